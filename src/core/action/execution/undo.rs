//! How something is taken back: only what still stands as it was left, and never more than that.

use super::super::readback::{Holder, back, headroom_note, holder, reads_as};
use super::{Execution, Found, State, Step};
use crate::action::{Order, Outcome, PortConfig, PutBack, UndoOp, UndoResult};

impl Execution {
    fn undo_ops(&self) -> Vec<UndoOp> {
        match &self.order {
            Order::Undo(undo) => undo.ops.clone(),
            Order::Do(plan) => plan.undo_ops(),
        }
    }

    pub(super) fn undo_from(&mut self, index: usize) -> Step {
        if index >= self.undo_ops().len() {
            let result = match self.found {
                Found { foreign: true, .. } => UndoResult::Foreign,
                Found { ours: true, .. } => UndoResult::Done,
                Found { .. } => UndoResult::NotNeeded,
            };
            return self.end_undo(result, headroom_note(self.order.headroom(), self.headroom));
        }
        self.read_back(State::UndoChecking(index))
    }

    pub(super) fn judge_ownership(&mut self, index: usize, config: Result<PortConfig, String>) -> Step {
        let Some(step) = self.undo_ops().into_iter().nth(index) else { return self.undo_from(usize::MAX) };
        match config.map(|config| holder(&step, &config).map(|holder| (holder, back(&step, &config)))) {
            Err(error) => self.end_undo(UndoResult::Failed, Some(error)),
            Ok(None) => self.end_undo(UndoResult::Failed, Some(format!("{}: cannot be read", step.done))),
            Ok(Some((Holder::Us, back))) => {
                self.found.ours = true;
                self.state = State::UndoApplying(index);
                self.back = Some(back.clone());
                Step::Apply(back)
            }
            Ok(Some((other, _))) => {
                self.found.foreign |= other == Holder::Foreign;
                self.undo_from(index + 1)
            }
        }
    }

    pub(super) fn judge_undone(&mut self, index: usize, config: Result<PortConfig, String>) -> Step {
        let Some(step) = self.undo_ops().into_iter().nth(index) else { return self.undo_from(usize::MAX) };
        if let Ok(config) = &config {
            self.headroom = config.headroom;
        }
        let op = self.back.take().unwrap_or(step.op);
        let refusal = self.refusal.take();
        match config.map(|config| reads_as(&op, &config, &self.before)) {
            Ok(Some(true)) => self.undo_from(index + 1),
            Ok(_) => {
                let why = refusal.unwrap_or_else(|| format!("{op}: does not read back"));
                self.end_undo(UndoResult::Failed, Some(why))
            }
            Err(error) => self.end_undo(UndoResult::Failed, Some(format!("read-back: {error}"))),
        }
    }

    pub(super) fn end_undo(&mut self, result: UndoResult, reason: Option<String>) -> Step {
        match self.verdict.take() {
            None => self.done(Outcome::Undone(result), reason),
            Some((verdict, why)) => {
                let put_back = match result {
                    UndoResult::Done | UndoResult::NotNeeded | UndoResult::Foreign => PutBack::Done,
                    UndoResult::Failed => PutBack::Failed,
                };
                let both = why.into_iter().chain(reason).collect::<Vec<_>>().join("; put back: ");
                self.end_plan(verdict, put_back, Some(both))
            }
        }
    }
}

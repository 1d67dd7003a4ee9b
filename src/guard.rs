//! Asks the fleet guard: one PromQL query, aside, never in the path of an action. The engine uses the answer if it is
//! newer than the storm.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use rocewatch_core::input::{GuardAnswer, Input};
use rocewatch_core::settings::Guard;
use rocewatch_core::units::MonoTime;

/// A Prometheus that takes longer is as good as silent.
const TIMEOUT: Duration = Duration::from_secs(5);

const NO_SAMPLE: &str = "the query has no sample: write 'or vector(0)' where none means zero";

/// The thread that asks.
pub struct Asker {
    questions: SyncSender<(Guard, MonoTime)>,
}

impl Asker {
    /// Starts it. Answers go to `inputs`.
    ///
    /// # Errors
    /// If no thread can be made.
    pub fn start(inputs: SyncSender<Input>) -> std::io::Result<Self> {
        let (questions, asked) = sync_channel(1);
        thread::Builder::new().name("guard".into()).spawn(move || answer_all(&asked, &inputs))?;
        Ok(Self { questions })
    }

    /// Asks. A question that is asked while another waits for its answer is the same question.
    pub fn ask(&self, guard: Guard, now: MonoTime) {
        match self.questions.try_send((guard, now)) {
            Ok(()) | Err(TrySendError::Full(_)) => {}
            Err(TrySendError::Disconnected(_)) => tracing::error!("the guard thread has ended"),
        }
    }
}

fn answer_all(asked: &Receiver<(Guard, MonoTime)>, inputs: &SyncSender<Input>) {
    let agent =
        ureq::Agent::new_with_config(ureq::config::Config::builder().timeout_global(Some(TIMEOUT)).build());
    let mut failing: Option<String> = None;
    while let Ok((guard, asked_at)) = asked.recv() {
        let answer = query(&agent, &guard);
        let error = answer.as_ref().err();
        if let Some(error) = error.filter(|error| failing.as_ref() != Some(*error)) {
            tracing::warn!(error, "the fleet guard gives no answer: nothing that disturbs a link is done");
        }
        failing = error.cloned();
        if inputs.send(Input::GuardAnswer(GuardAnswer { asked_at, answer })).is_err() {
            return;
        }
    }
}

/// The first sample of an instant query. A vector without samples is none, and no zero: nobody may be scraped any more, or
/// the metric's name may be wrong.
fn query(agent: &ureq::Agent, guard: &Guard) -> Result<u64, String> {
    let url = format!("{}/api/v1/query", guard.url.trim_end_matches('/'));
    let failed = |error: &dyn std::fmt::Display| format!("{url}: {error}");
    let mut response = agent.get(&url).query("query", &guard.query).call().map_err(|error| failed(&error))?;
    let text = response.body_mut().read_to_string().map_err(|error| failed(&error))?;
    first_sample(&text).map_err(|error| failed(&error))
}

fn first_sample(text: &str) -> Result<u64, String> {
    let body: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let data = &body["data"];
    let sample = match data["resultType"].as_str() {
        Some("scalar") => &data["result"],
        Some("vector") => match data["result"].get(0) {
            Some(first) => &first["value"],
            None => return Err(NO_SAMPLE.into()),
        },
        _ => return Err("the answer is neither a vector nor a scalar".into()),
    };
    let value = sample[1].as_str().ok_or("the answer has no value")?;
    let number = value.parse::<f64>().map_err(|_| format!("{value} is no number"))?;
    if number.is_finite() && number >= 0.0 {
        // More than a fleet has nodes is the same answer.
        Ok(number.min(1e15).ceil() as u64)
    } else {
        Err(format!("{value} is no count"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_of_a_vector_or_the_scalar_counts() {
        let vector =
            r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"3"]}]}}"#;
        assert_eq!(first_sample(vector), Ok(3));
        assert_eq!(first_sample(r#"{"data":{"resultType":"scalar","result":[1,"2.5"]}}"#), Ok(3));
    }

    #[test]
    fn an_answer_without_a_sample_is_no_agreement() {
        let empty = r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#;
        assert_eq!(first_sample(empty), Err(NO_SAMPLE.into()));
    }

    #[test]
    fn an_answer_that_is_no_count_is_no_agreement() {
        for text in [
            "",
            "{}",
            r#"{"data":{"resultType":"vector","result":[{"value":[1,"NaN"]}]}}"#,
            r#"{"data":{"resultType":"scalar","result":[1,"-1"]}}"#,
            r#"{"data":{"resultType":"scalar","result":[1,7]}}"#,
            r#"{"data":{"resultType":"matrix","result":[]}}"#,
        ] {
            assert!(first_sample(text).is_err(), "{text}");
        }
    }
}

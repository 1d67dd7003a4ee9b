//! Counts what each thread allocates, for tests of what must not allocate. Not part of the agent.

#![allow(unsafe_code, reason = "an allocator without unsafe cannot be written")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// How often this thread has asked for memory so far.
pub(crate) fn of_this_thread() -> u64 {
    COUNT.get()
}

struct Counting;

impl Counting {
    fn note() {
        // A thread that ends may still allocate when its own variables are gone.
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
    }
}

// SAFETY: the system's allocator does the work, with the arguments and under the promises of the caller; counting
// allocates nothing, as the counter is a number without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::note();
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::note();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::note();
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

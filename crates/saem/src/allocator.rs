//! The allocator, and how long it holds on to memory that nothing uses.

use std::os::unix::process::CommandExt as _;

use crate::args::Command;

/// Loading documents is mostly small allocations on many threads, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many milliseconds free pages are kept for whoever wants some next. Whoever runs Saem may set it.
const SETTING: &str = "MIMALLOC_PURGE_DELAY";

/// A server gives memory back at once: it lives long, and what a moment of many turns leaves free in the heap of each thread
/// would be its size from then on.
const SERVING: &str = "0";

/// A load is over soon, and until then takes again what it has just let go.
const LOADING: &str = "1000";

/// Has the allocator keep pages as long as a command is best served. It reads its settings before anything of the
/// program runs, so the program is started anew with them, which takes some milliseconds.
pub(crate) fn fit_to(command: &Command) {
    let delay = match command {
        Command::Serve | Command::Demo => SERVING,
        Command::Ingest(_) => LOADING,
        _ => return,
    };
    #[expect(clippy::disallowed_methods, reason = "the allocator knows no other settings")]
    if std::env::var_os(SETTING).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let mut anew = std::process::Command::new(program);
    anew.arg0(arguments.next().unwrap_or_default()).args(arguments).env(SETTING, delay);
    // It comes back only if that cannot be done: then more memory is used.
    let _why = anew.exec();
}

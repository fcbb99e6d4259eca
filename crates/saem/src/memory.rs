//! Makes the allocator give back what large documents took.
//!
//! glibc gives a large block back to the system when it is freed, but takes every such block, up to 32 MiB, as a
//! sign that smaller ones should be kept from then on: after a few large documents a server holds a hundred
//! megabytes for nothing. A fixed size ends that. It can be set only from outside, before a process starts, so
//! that the server starts itself once more in its own place.

/// What glibc reads the size from.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const VARIABLE: &str = "MALLOC_MMAP_THRESHOLD_";

/// Blocks of this size are given back as soon as they are freed: documents are larger, what searches need is smaller.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const GIVEN_BACK_FROM_BYTES: u32 = 1 << 20;

/// Returns when there is nothing to do, or when it cannot be done: then more memory is kept than needed, no more.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn give_back() {
    use std::os::unix::process::CommandExt;
    // Set by us, or by somebody who knows better.
    if crate::config::variable(VARIABLE).is_some() {
        return;
    }
    let mut arguments = std::env::args_os();
    let (Some(name), Ok(program)) = (arguments.next(), std::env::current_exe()) else { return };
    let mut again = std::process::Command::new(program);
    let _cannot =
        again.arg0(name).args(arguments).env(VARIABLE, GIVEN_BACK_FROM_BYTES.to_string()).exec();
}

/// Other allocators give back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_back() {}

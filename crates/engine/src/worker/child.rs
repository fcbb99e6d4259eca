//! The child's side: gives up its rights, then reads one document after another until its input ends.

use std::io::{self, BufRead, BufReader, Read};

use extract::{Hint, Limits};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::wire::{Answer, HEADER_BYTES_MAX, Request};

/// Memory for one document and everything made of it, besides the program itself.
const MEMORY_BYTES_MAX: u64 = 512 << 20;

/// Processor time for one document.
const PROCESSOR_SECONDS_MAX: u64 = 60;

/// Serves on standard input and output; returns when the parent is done.
pub fn serve() -> io::Result<()> {
    give_up_rights()?;
    let mut input = BufReader::new(io::stdin().lock());
    while let Some(request) = next_request(&mut input)? {
        let mut bytes = Vec::new();
        input.by_ref().take(request.bytes as u64).read_to_end(&mut bytes)?;
        allow_processor_time()?;
        let (is_read, answer) = read(&request, &bytes);
        drop(bytes);
        // In one piece: each write wakes the parent.
        let mut message = serde_json::to_vec(&Answer { is_read, bytes: answer.len() })?;
        message.push(b'\n');
        message.extend(answer);
        write_all(&message)?;
    }
    Ok(())
}

/// To standard output, past its buffer: that would write up to the last line's end first.
fn write_all(mut message: &[u8]) -> io::Result<()> {
    while !message.is_empty() {
        let written =
            rustix::io::retry_on_intr(|| rustix::io::write(rustix::stdio::stdout(), message))?;
        message = message.get(written..).unwrap_or_default();
    }
    Ok(())
}

fn next_request(input: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = Vec::new();
    input.take(HEADER_BYTES_MAX as u64).read_until(b'\n', &mut line)?;
    if line.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_slice(&line)?)) }
}

fn read(request: &Request, bytes: &[u8]) -> (bool, Vec<u8>) {
    let order = &request.order;
    let hint = Hint {
        file_name: order.file_name.as_deref(),
        media_type: order.media_type.as_deref(),
        mapping: order.mapping.as_ref(),
    };
    match extract::extract(bytes, &hint, &Limits::default()) {
        Ok(extracted) => match extracted.to_bytes() {
            Ok(answer) => (true, answer),
            Err(error) => (false, error.to_string().into_bytes()),
        },
        Err(error) => (false, error.to_string().into_bytes()),
    }
}

/// After this, no document can make the process open a file or a connection, grow without end or write to disk.
fn give_up_rights() -> io::Result<()> {
    limit(Resource::As, program_bytes() + MEMORY_BYTES_MAX)?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    // Input, output and errors are open already; a fourth descriptor, be it a file or a socket, cannot be had.
    limit(Resource::Nofile, 3)?;
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        rustix::thread::set_no_new_privs(true)?;
    }
    Ok(())
}

/// What the program takes of the address space before it has read anything; 0 where nobody tells.
fn program_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kibibytes = size.and_then(|size| size.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

/// The limit counts from the process's start, so that it has to be moved for each document.
fn allow_processor_time() -> io::Result<()> {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(used.tv_sec).unwrap_or(0) + PROCESSOR_SECONDS_MAX;
    let hard = getrlimit(Resource::Cpu).maximum;
    setrlimit(Resource::Cpu, Rlimit { current: Some(seconds), maximum: hard })?;
    Ok(())
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    Ok(())
}

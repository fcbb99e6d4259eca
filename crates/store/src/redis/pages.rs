//! The list of a tenant's sessions, page by page.

use agent::identity::Timestamp;
use agent::names::TenantId;
use agent::ports::{Page, PortError, SessionLine};

use super::keys::index_key;
use super::link::Link;
use super::record::read_command;
use super::removal_up_to;

/// Entries of the list that are looked up at a time.
const BATCH: usize = 100;

/// Entries that are looked at for one page: beyond that many without a session, the page ends early.
const LOOKED_AT_MAX: usize = 10_000;

/// How old an entry without a session has to be before it is taken out, in milliseconds: the entry of a session that
/// is being kept comes before the session, and no operation takes that long.
const DANGLING_AGE: u64 = 60_000;

/// An entry of the list: a session's name and its last use.
type Entry = (String, u64);

/// A page starts behind `after`, which is the last use of the last session of the page before, and its name.
pub(super) async fn page(
    link: &Link,
    tenant: &TenantId,
    after: Option<&str>,
    limit: usize,
    now: Timestamp,
) -> Result<Page<SessionLine>, PortError> {
    let after = after.and_then(|after| after.split_once('.'));
    let after = after.and_then(|(time, name)| Some((time.parse::<u64>().ok()?, name)));
    // The last of the page before, and what comes before it among those of the same moment.
    let was_shown = |(id, used_at): &Entry| {
        after.is_some_and(|(time, name)| *used_at == time && id.as_str() >= name)
    };
    let from = after.map(|(time, _)| time);
    let mut page = Page { items: Vec::new(), next: None };
    let (mut last, mut dangling) = (None, Vec::new());
    'looking: for looked_at in (0..LOOKED_AT_MAX).step_by(BATCH) {
        let entries = entries(link, tenant, from, looked_at).await?;
        let is_end = entries.len() < BATCH;
        let lines = lines(link, tenant, &entries).await?;
        for (entry, line) in entries.into_iter().zip(lines).filter(|(entry, _)| !was_shown(entry)) {
            match line {
                None => dangling.push(entry),
                Some(_) if page.items.len() == limit => {
                    page.next = last;
                    break 'looking;
                }
                Some(line) => {
                    page.items.push(line);
                    last = Some(format!("{}.{}", entry.1, entry.0));
                }
            }
        }
        if is_end {
            break;
        }
        if looked_at + BATCH >= LOOKED_AT_MAX {
            page.next = last.take();
        }
    }
    // Not while looking: the places of the others would change.
    remove_old(link, tenant, &dangling, now).await?;
    Ok(page)
}

/// Entries of a tenant's list from a moment back, the latest first, `skipped` of them left out.
async fn entries(
    link: &Link,
    tenant: &TenantId,
    from: Option<u64>,
    skipped: usize,
) -> Result<Vec<Entry>, PortError> {
    let from = from.map_or_else(|| "+inf".to_owned(), |time| time.to_string());
    let mut command = redis::cmd("ZRANGE");
    command.arg(index_key(tenant.as_str())).arg(from).arg("-inf").arg("BYSCORE").arg("REV");
    command.arg("LIMIT").arg(skipped).arg(BATCH).arg("WITHSCORES");
    link.ask(&command).await
}

/// The line of each entry; none if its session is gone.
async fn lines(
    link: &Link,
    tenant: &TenantId,
    entries: &[Entry],
) -> Result<Vec<Option<SessionLine>>, PortError> {
    let commands = entries.iter().map(|(id, _)| {
        let mut command = read_command(tenant.as_str(), id, "header");
        command.arg(&["title", "used_at"]);
        command
    });
    let found: Vec<Option<(String, u64)>> = link.ask_many(commands.collect()).await?;
    let lines = entries.iter().zip(found).map(|((id, _), found)| {
        let (title, used_at) = found?;
        Some(SessionLine { id: id.parse().ok()?, title, used_at: Timestamp(used_at) })
    });
    Ok(lines.collect())
}

/// Takes entries without a session out, unless the session may be on its way.
async fn remove_old(
    link: &Link,
    tenant: &TenantId,
    dangling: &[Entry],
    now: Timestamp,
) -> Result<(), PortError> {
    let old = now.0.saturating_sub(DANGLING_AGE);
    let index = index_key(tenant.as_str());
    let removals = dangling.iter().filter(|(_, used_at)| *used_at <= old);
    let removals = removals.map(|(id, _)| removal_up_to(&index, id, old)).collect();
    link.ask_many::<u64>(removals).await?;
    Ok(())
}

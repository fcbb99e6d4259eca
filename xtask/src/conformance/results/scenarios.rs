//! The suite's lists of what a revision requires: `server:` and `client:` with a name in each line, and what is not scored.

use super::Side;

/// The scenarios that count for a side.
pub(in crate::conformance) fn scored(list: &str, side: Side) -> Vec<String> {
    let heading = format!("{}:", side.word());
    let section = list.lines().skip_while(|line| line.trim_end() != heading).skip(1);
    section
        .take_while(|line| line.is_empty() || line.starts_with([' ', '#']))
        .filter_map(|line| line.trim().strip_prefix("- "))
        .map(|name| name.trim().to_owned())
        .collect()
}

/// Whether a scenario is run for a side, scored or not.
pub(in crate::conformance) fn are_there(list: &str, side: Side, name: &str) -> bool {
    let unscored = format!("- scenario: {name}\n    leg: {}\n", side.word());
    list.contains(&unscored) || scored(list, side).iter().any(|scored| scored == name)
}

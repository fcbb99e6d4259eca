//! The rules of one `robots.txt`: which paths a program may read.

/// What we are called in these files.
const NAME: &str = "saem";

/// Rules that are read of one file.
const RULES_MAX: usize = 5_000;

/// Stars in one pattern: each may be tried at every place of a path.
const STARS_MAX: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rules {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    pattern: String,
    is_allowed: bool,
}

/// A rule of the groups for us, and whether the group names us.
#[derive(Default)]
struct Group {
    is_ours: bool,
    is_for_all: bool,
    has_rules: bool,
}

impl Rules {
    pub(super) fn everything() -> Self {
        Self { rules: Vec::new() }
    }

    pub(super) fn nothing() -> Self {
        Self { rules: vec![Rule { pattern: "/".to_owned(), is_allowed: false }] }
    }

    /// The rules of the groups that name us, or else of those for everybody.
    pub(super) fn read(text: &str) -> Self {
        let (mut ours, mut for_all) = (Vec::new(), Vec::new());
        let mut is_named = false;
        let mut group = Group::default();
        for line in text.trim_start_matches('\u{feff}').lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            let is_allowed = match name.trim().to_ascii_lowercase().as_str() {
                "user-agent" => {
                    if group.has_rules {
                        group = Group::default();
                    }
                    let product = value.split(['/', ' ']).next().unwrap_or_default();
                    group.is_ours |= product.eq_ignore_ascii_case(NAME);
                    group.is_for_all |= product == "*";
                    is_named |= group.is_ours;
                    continue;
                }
                "allow" => true,
                "disallow" => false,
                _ => continue,
            };
            group.has_rules = true;
            // A rule without a path says nothing.
            if value.is_empty() || ours.len() + for_all.len() >= RULES_MAX {
                continue;
            }
            let rule = Rule { pattern: value.to_owned(), is_allowed };
            if group.is_ours {
                ours.push(rule.clone());
            }
            if group.is_for_all {
                for_all.push(rule);
            }
        }
        Self { rules: if is_named { ours } else { for_all } }
    }

    /// Whether a path, with its query, may be read: the longest pattern that fits decides, and of two as long the one that allows.
    pub(super) fn allow(&self, path: &str) -> bool {
        if path == "/robots.txt" {
            return true;
        }
        let fitting = self.rules.iter().filter(|rule| fits(&rule.pattern, path));
        let decisive = fitting.max_by_key(|rule| (rule.pattern.len(), rule.is_allowed));
        decisive.is_none_or(|rule| rule.is_allowed)
    }
}

/// `*` stands for anything, `$` at the end for the end.
fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.take(STARS_MAX).collect();
    let Some((last, between)) = parts.split_last() else { return !is_whole || rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    if is_whole { rest.ends_with(last) } else { rest.contains(last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, allowed: &[&str], refused: &[&str]) {
        let rules = Rules::read(text);
        for path in allowed {
            assert!(rules.allow(path), "{path} of\n{text}");
        }
        for path in refused {
            assert!(!rules.allow(path), "{path} of\n{text}");
        }
    }

    #[test]
    fn the_longest_rule_decides() {
        check(
            "User-Agent: *\nDisallow: /a\nAllow: /a/b # but this\nDisallow:\n",
            &["/", "/a/b", "/a/b/c", "/b", "/robots.txt"],
            &["/a", "/a/c", "/ab"],
        );
        check("user-agent: *\ndisallow: /a\nallow: /a\n", &["/a"], &[]);
        check("", &["/"], &[]);
        check("Disallow: /\n", &["/"], &[]);
    }

    #[test]
    fn a_group_that_names_us_stands_before_the_one_for_all() {
        let text = "User-agent: *\nDisallow: /\n\nUser-agent: other\nUser-agent: Saem/1.0\nDisallow: /no\n";
        check(text, &["/", "/yes"], &["/no"]);
        check("User-agent: saem\nDisallow:\n\nUser-agent: *\nDisallow: /\n", &["/x"], &[]);
        check("User-agent: saemaul\nDisallow: /\n", &["/x"], &[]);
    }

    #[test]
    fn stars_and_ends_are_understood() {
        check("User-agent: *\nDisallow: /*.pdf$\n", &["/a.pdf?x", "/a"], &["/a.pdf", "/b/c.pdf"]);
        check("User-agent: *\nDisallow: /a*b*c\n", &["/abd", "/cba"], &["/abc", "/a1b2c3"]);
        check("User-agent: *\nDisallow: /$\n", &["/a"], &["/"]);
        check("User-agent: *\nDisallow: *?\n", &["/a"], &["/a?b"]);
    }
}

//! Patterns for paths, as people know them: `*` within a name, `**` across folders.

/// Whether `path` fits `pattern`; both use `/`. A pattern without `/` fits the last name of a path.
#[must_use]
pub fn fits(pattern: &str, path: &str) -> bool {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [part] if *part != "**" => names.last().is_some_and(|name| name_fits(part, name)),
        parts => names_fit(parts, &names),
    }
}

fn names_fit(parts: &[&str], names: &[&str]) -> bool {
    // Row by row as in an edit distance: time grows with the product, never beyond.
    let mut fits_up_to = vec![false; names.len() + 1];
    if let Some(first) = fits_up_to.first_mut() {
        *first = true;
    }
    for part in parts {
        let mut next = vec![false; names.len() + 1];
        let mut any_before = false;
        for (place, before) in fits_up_to.iter().enumerate() {
            any_before |= *before;
            if *part == "**" {
                if let Some(slot) = next.get_mut(place) {
                    *slot = any_before;
                }
            } else if *before
                && names.get(place).is_some_and(|name| name_fits(part, name))
                && let Some(slot) = next.get_mut(place + 1)
            {
                *slot = true;
            }
        }
        fits_up_to = next;
    }
    fits_up_to.last().copied().unwrap_or(false)
}

fn name_fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = name.split_once(part) else { return false };
        name = after;
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stays_in_a_name_and_two_cross_folders() {
        let table = [
            ("*.md", "a/b.md", true),
            ("*.md", "a/b.mdx", false),
            ("faq/**", "faq/ko/a.csv", true),
            ("faq/**", "guides/faq.md", false),
            ("**/faq/*", "docs/x/faq/a.csv", true),
            ("**/faq/*", "docs/x/faq/y/a.csv", false),
            ("guides/*/a*.md", "guides/ko/alarm.md", true),
            ("guides/*/a*.md", "guides/ko/budget.md", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXc", false),
            ("**", "anything/at/all", true),
            ("가이드/*", "가이드/시작.md", true),
        ];
        for (pattern, path, expected) in table {
            assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
        }
    }
}

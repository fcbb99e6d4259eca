//! A report as Markdown.

use super::{CitedSource, Claim, Report};

pub(super) fn report(report: &Report) -> String {
    let words = report.words_of();
    let mut text = format!("# {}\n", line(&report.question));
    for section in &report.sections {
        text.push_str(&format!("\n## {}\n", line(&section.heading)));
        for claim in &section.claims {
            text.push_str(&format!("\n{}\n", claimed(report, claim)));
        }
    }
    if report.claims().next().is_none() {
        text.push_str(&format!("\n{}\n", words.nothing));
    }
    list(&mut text, words.not_found, &report.not_found);
    if !report.sources.is_empty() {
        text.push_str(&format!("\n## {}\n\n", words.sources));
        for (number, source) in (1..).zip(&report.sources) {
            text.push_str(&format!("{number}. {}\n", listed(report, source)));
            for quote in report.quotes(source.id) {
                text.push_str(&format!("   > “{}”\n", line(quote)));
            }
        }
    }
    let ended = report.ended.told(report.language()).map(str::to_owned);
    let notes: Vec<String> = ended.into_iter().chain(report.notes.iter().cloned()).collect();
    list(&mut text, words.notes, &notes);
    text
}

fn list(text: &mut String, heading: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    text.push_str(&format!("\n## {heading}\n\n"));
    for item in items {
        text.push_str(&format!("- {}\n", line(item)));
    }
}

fn claimed(report: &Report, claim: &Claim) -> String {
    let numbers: String =
        report.numbers(claim).iter().map(|number| format!("[{number}]")).collect();
    let blank = if numbers.is_empty() { "" } else { " " };
    let mark = match claim.is_supported {
        true => String::new(),
        false => format!(" *({})*", report.words_of().unsupported),
    };
    format!("{}{blank}{numbers}{mark}", plain(claim.text.trim()))
}

fn listed(report: &Report, source: &CitedSource) -> String {
    let words = report.words_of();
    let title = if source.title.trim().is_empty() { &source.place } else { &source.title };
    let place = match source.web_address() {
        Some(address) => format!("<{address}>"),
        None => line(&source.place),
    };
    let published = source.published.as_ref();
    let published =
        published.map(|day| format!(" · {} {}", words.published, line(day))).unwrap_or_default();
    format!(
        "**{}** · {place}{published} · {} {} ({})",
        line(title),
        words.accessed,
        source.accessed,
        source.provider
    )
}

/// Text of others as Markdown that says the same: no tag of it is one here.
fn plain(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// The same on one line.
fn line(text: &str) -> String {
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

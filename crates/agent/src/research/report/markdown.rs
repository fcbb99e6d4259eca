//! A report as Markdown.

use super::{CitedSource, Claim, Report, one_line};

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
    format!("{}{blank}{numbers}{mark}", line(&claim.text))
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

/// Text of others on one line, as Markdown that says the same: nothing in it is a tag, a link, a picture or a list.
fn line(text: &str) -> String {
    let text = one_line(text);
    let mut escaped = String::with_capacity(text.len());
    if begins_a_block(&text) {
        escaped.push('\\');
    }
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '\\' | '`' | '*' | '[' | ']' | '~' => escaped.extend(['\\', letter]),
            // Within a word it is a letter like others.
            '_' if before.is_alphanumeric()
                && letters.peek().is_some_and(|next| next.is_alphanumeric()) =>
            {
                escaped.push('_');
            }
            '_' => escaped.push_str("\\_"),
            letter => escaped.push(letter),
        }
        before = letter;
    }
    // The number of a list is escaped behind it.
    if let Some(digits) = list_number(&text) {
        escaped.insert(digits, '\\');
    }
    escaped
}

/// Whether a line that begins so is a heading, a quote, a rule or an item of a list.
fn begins_a_block(text: &str) -> bool {
    match text.split_at_checked(1) {
        Some(("#" | ">", _)) => true,
        Some(("-" | "+", rest)) => rest.is_empty() || rest.starts_with([' ', '-']),
        _ => false,
    }
}

/// How many digits the number has, if a line begins with that of a list.
fn list_number(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let behind = text.get(digits..)?.strip_prefix(['.', ')'])?;
    let is_item = digits > 0 && (behind.is_empty() || behind.starts_with(' '));
    is_item.then_some(digits)
}

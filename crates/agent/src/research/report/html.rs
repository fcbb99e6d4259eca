//! A report as a page.

use super::{CitedSource, Claim, Report, seen};

/// How the page looks; small, and the same wherever it is opened.
const STYLE: &str = "body{font:16px/1.6 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;\
    color:#1c1c1c;background:#fff}h1{line-height:1.25}a{color:#0b57d0}.mark{color:#a33;font-size:.85em}\
    blockquote{margin:.3rem 0 .3rem 1rem;color:#555}footer{color:#555;font-size:.9em}\
    @media (prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}a{color:#8ab4f8}.mark{color:#f99}\
    blockquote,footer{color:#aaa}}";

pub(super) fn report(report: &Report) -> String {
    let words = report.words_of();
    let title = escaped(&report.question);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n",
        words.language
    );
    for section in &report.sections {
        page.push_str(&format!("<h2>{}</h2>\n", escaped(&section.heading)));
        for claim in &section.claims {
            page.push_str(&claimed(report, claim));
        }
    }
    if report.claims().next().is_none() {
        page.push_str(&format!("<p>{}</p>\n", words.nothing));
    }
    list(&mut page, words.not_found, &report.not_found);
    if !report.sources.is_empty() {
        page.push_str(&format!("<h2>{}</h2>\n<ol>\n", words.sources));
        for (number, source) in (1..).zip(&report.sources) {
            page.push_str(&listed(report, number, source));
        }
        page.push_str("</ol>\n");
    }
    let ended = report.ended.told(report.language()).map(str::to_owned);
    let notes: Vec<String> = ended.into_iter().chain(report.notes.iter().cloned()).collect();
    list(&mut page, words.notes, &notes);
    page.push_str("</body>\n</html>\n");
    page
}

fn list(page: &mut String, heading: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    page.push_str(&format!("<h2>{heading}</h2>\n<ul>\n"));
    for item in items {
        page.push_str(&format!("<li>{}</li>\n", escaped(item)));
    }
    page.push_str("</ul>\n");
}

fn claimed(report: &Report, claim: &Claim) -> String {
    let link = |number: &usize| format!("<a href=\"#source-{number}\">[{number}]</a>");
    let numbers: String = report.numbers(claim).iter().map(link).collect();
    let mark = match claim.is_supported {
        true => String::new(),
        false => format!(" <span class=\"mark\">({})</span>", report.words_of().unsupported),
    };
    let text = escaped(claim.text.trim()).replace('\n', "<br>\n");
    format!("<p>{text} {numbers}{mark}</p>\n")
}

fn listed(report: &Report, number: usize, source: &CitedSource) -> String {
    let words = report.words_of();
    let title = if source.title.trim().is_empty() { &source.place } else { &source.title };
    let place = match source.web_address() {
        Some(address) => {
            let address = escaped(address);
            format!("<a href=\"{address}\" rel=\"noreferrer noopener\">{address}</a>")
        }
        None => escaped(&source.place),
    };
    let published = source.published.as_ref();
    let published =
        published.map(|day| format!(" · {} {}", words.published, escaped(day))).unwrap_or_default();
    let quotes: String = report
        .quotes(source.id)
        .iter()
        .map(|quote| format!("<blockquote>“{}”</blockquote>\n", escaped(quote)))
        .collect();
    format!(
        "<li id=\"source-{number}\"><strong>{}</strong> · {place}{published} · {} {} ({})\n{quotes}</li>\n",
        escaped(title),
        words.accessed,
        source.accessed,
        source.provider
    )
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in seen(text).chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
    }
    safe
}

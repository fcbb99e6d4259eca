//! Reads a web page: its main part, as text with headings, lists, tables and code.

mod guard;
mod render;
mod tags;

use dom_smoothie::{Config, Readability};

use crate::document::{Draft, one_line};
use crate::limits::{Limits, within};
use crate::{ExtractError, Extracted, Format};

/// Pages with more tags than this are not articles: finding their main part takes long and gains little.
const TAGS_FOR_MAIN_PART_MAX: usize = 60_000;
/// An article with fewer bytes of text than this may have missed the page.
const ARTICLE_BYTES_MIN: usize = 400;
/// It has when the page has more than so many times its text.
const WHOLE_PAGE_SHARE: usize = 4;
/// Of an article's text, links are less than one part in so many; a list of links is no article.
const LINKS_SHARE: usize = 4;
/// Elements that hold text and nothing else, in order.
const TEXT_ELEMENTS: [&str; 46] = [
    "a",
    "abbr",
    "b",
    "blockquote",
    "br",
    "caption",
    "cite",
    "code",
    "dd",
    "del",
    "dl",
    "dt",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "ins",
    "kbd",
    "li",
    "ol",
    "p",
    "pre",
    "q",
    "s",
    "samp",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
    "var",
];
/// An article is not the main part when what the page marks as such has more than so many times its text.
const MARKED_PART_SHARE: usize = 2;

pub(crate) fn read(text: &str, limits: &Limits) -> Result<Extracted, ExtractError> {
    within("bytes of text", text.len(), limits.source_bytes_max)?;
    let tags = guard::check(text, limits)?;
    let found = if tags <= TAGS_FOR_MAIN_PART_MAX { article(text, limits)? } else { None };
    let Article { draft: article, title: article_title, marked } =
        found.unwrap_or_else(|| Article { draft: Draft::new(limits), title: None, marked: None });
    let title = article_title.or_else(|| title(text));
    // Guides of many short parts look like menus to whoever looks for an article; pages that mark their
    // main part know better.
    let enough = article.text.len().saturating_mul(MARKED_PART_SHARE);
    let has_main = || find_ignoring_case(text, "<main").is_some();
    let marked = match marked {
        // Tags are longer than nothing: what is too short with them is so without.
        Some(html) if html.len() > enough => Some(render::render(&html, limits)?),
        None if tags > TAGS_FOR_MAIN_PART_MAX && has_main() => Some(part(text, "main", limits)?),
        _ => None,
    };
    if let Some(marked) = marked.filter(|marked| marked.text.len() > enough) {
        return Ok(marked.finish(Format::Html, title));
    }
    if article.text.len() < ARTICLE_BYTES_MIN {
        let whole = part(text, "html", limits)?;
        if whole.text.len() > article.text.len().saturating_mul(WHOLE_PAGE_SHARE) {
            return Ok(whole.finish(Format::Html, title));
        }
    }
    Ok(article.finish(Format::Html, title))
}

struct Article<'a> {
    draft: Draft<'a>,
    title: Option<String>,
    /// What the page itself marks as its main part, as HTML.
    marked: Option<String>,
}

/// The article of the page, if there is one.
fn article<'a>(text: &str, limits: &'a Limits) -> Result<Option<Article<'a>>, ExtractError> {
    let config = Config { disable_json_ld: true, ..Config::default() };
    let Ok(mut readability) = Readability::new(text, None, Some(config)) else { return Ok(None) };
    if let Some(article) = marked_article(&readability, limits)? {
        return Ok(Some(article));
    }
    // Looking for the article changes the page, so its mark is taken before.
    let main = readability.doc.select_single("main");
    let marked = main.exists().then(|| main.html().to_string());
    drop(main);
    let Ok(article) = readability.parse() else {
        let (draft, title) = (Draft::new(limits), None);
        return Ok(Some(Article { draft, title, marked }));
    };
    let draft = render::render(&article.content, limits)?;
    let title = Some(article.title).filter(|title| !title.trim().is_empty());
    Ok(Some(Article { draft, title, marked }))
}

/// What a page marks as its one article within its one main part, if it is of text alone: no box in it could hold
/// something else, so there is nothing to be found out.
fn marked_article<'a>(
    readability: &Readability,
    limits: &'a Limits,
) -> Result<Option<Article<'a>>, ExtractError> {
    let page = &readability.doc;
    let (main, article) = (page.select("main"), page.select("article"));
    if main.length() != 1 || article.length() != 1 || main.select("article").length() != 1 {
        return Ok(None);
    }
    for node in article.select("*").nodes() {
        let name = node.node_name();
        if name.is_none_or(|name| TEXT_ELEMENTS.binary_search(&&*name).is_err()) {
            return Ok(None);
        }
    }
    let links: usize = article.select("a").iter().map(|link| link.text().len()).sum();
    if links.saturating_mul(LINKS_SHARE) > article.text().len() {
        return Ok(None);
    }
    let draft = render::render(&article.html(), limits)?;
    if draft.text.len() < ARTICLE_BYTES_MIN {
        return Ok(None);
    }
    let heading = article.select("h1");
    let title = (heading.length() == 1).then(|| one_line(&heading.text()));
    let title = title.filter(|title| !title.is_empty());
    Ok(Some(Article { draft, title, marked: None }))
}

/// Everything in the page's elements of that name, but for menus and the like.
fn part<'a>(text: &str, name: &str, limits: &'a Limits) -> Result<Draft<'a>, ExtractError> {
    let page = Readability::from(text);
    render::render(&page.doc.select_single(name).html(), limits)
}

/// What the page calls itself.
fn title(text: &str) -> Option<String> {
    let start = find_ignoring_case(text, "<title")?;
    let inner = text.get(start..)?.split_once('>')?.1;
    let end = inner.find('<')?;
    let title = one_line(&render::unescaped(inner.get(..end)?));
    (!title.is_empty()).then_some(title)
}

fn find_ignoring_case(text: &str, wanted: &str) -> Option<usize> {
    text.as_bytes()
        .windows(wanted.len())
        .position(|window| window.eq_ignore_ascii_case(wanted.as_bytes()))
}

#[cfg(test)]
mod tests;

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
/// An article is not the main part when what the page marks as such has more than so many times its text.
const MARKED_PART_SHARE: usize = 2;

pub(crate) fn read(text: &str, limits: &Limits) -> Result<Extracted, ExtractError> {
    within("bytes of text", text.len(), limits.source_bytes_max)?;
    let tags = guard::check(text, limits)?;
    let found = if tags <= TAGS_FOR_MAIN_PART_MAX { article(text, limits)? } else { None };
    let (article, article_title) = found.unwrap_or_else(|| (Draft::new(limits), None));
    let title = article_title.or_else(|| title(text));
    // Guides of many short parts look like menus to whoever looks for an article; pages that mark their
    // main part know better.
    if find_ignoring_case(text, "<main").is_some() {
        let marked = part(text, "main", limits)?;
        if marked.text.len() > article.text.len().saturating_mul(MARKED_PART_SHARE) {
            return Ok(marked.finish(Format::Html, title));
        }
    }
    if article.text.len() < ARTICLE_BYTES_MIN {
        let whole = part(text, "html", limits)?;
        if whole.text.len() > article.text.len().saturating_mul(WHOLE_PAGE_SHARE) {
            return Ok(whole.finish(Format::Html, title));
        }
    }
    Ok(article.finish(Format::Html, title))
}

/// The article of the page, if there is one, and its title.
fn article<'a>(
    text: &str,
    limits: &'a Limits,
) -> Result<Option<(Draft<'a>, Option<String>)>, ExtractError> {
    let config = Config { disable_json_ld: true, ..Config::default() };
    let Ok(mut readability) = Readability::new(text, None, Some(config)) else { return Ok(None) };
    let Ok(article) = readability.parse() else { return Ok(None) };
    let draft = render::render(&article.content, limits)?;
    let title = Some(article.title).filter(|title| !title.trim().is_empty());
    Ok(Some((draft, title)))
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

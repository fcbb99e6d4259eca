//! What the side parts of a Word document say: which styles are headings, which lists are numbered.

use std::borrow::Cow;
use std::collections::BTreeMap;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use crate::ExtractError;
use crate::docx::archive::Events;
use crate::limits::Limits;

/// How many styles may stand on each other: Word itself allows eleven.
const BASED_ON_MAX: usize = 16;
/// The deepest level of headings that Word has.
const HEADING_LEVEL_MAX: u8 = 9;

#[derive(Debug, Default)]
pub(super) struct Styles {
    styles: BTreeMap<String, Style>,
}

#[derive(Debug, Default, Clone)]
struct Style {
    heading: Option<u8>,
    is_title: bool,
    list: Option<(String, u8)>,
    based_on: Option<String>,
}

impl Styles {
    pub(super) fn heading(&self, id: &str) -> Option<u8> {
        // Documents without a part for styles still use the usual names.
        self.inherited(id, |style| style.heading).or_else(|| heading_level(id))
    }

    pub(super) fn is_title(&self, id: &str) -> bool {
        id == "Title" || self.styles.get(id).is_some_and(|style| style.is_title)
    }

    /// The list and level that paragraphs of the style belong to.
    pub(super) fn list(&self, id: &str) -> Option<(String, u8)> {
        self.inherited(id, |style| style.list.clone())
    }

    fn inherited<T>(&self, id: &str, property: impl Fn(&Style) -> Option<T>) -> Option<T> {
        let mut style = self.styles.get(id)?;
        for _ in 0..BASED_ON_MAX {
            if let Some(found) = property(style) {
                return Some(found);
            }
            style = self.styles.get(style.based_on.as_ref()?)?;
        }
        None
    }
}

pub(super) fn styles(part: &str, limits: &Limits) -> Result<Styles, ExtractError> {
    let mut events = Events::of(part, limits);
    let mut styles = BTreeMap::new();
    let mut id = String::new();
    let mut style = Style::default();
    loop {
        match events.next()? {
            Event::Start(tag) if tag.local_name().as_ref() == "style" => {
                id = attribute(&tag, "styleId").unwrap_or_default();
                style = Style::default();
            }
            Event::Start(tag) | Event::Empty(tag) => style.take(&tag),
            Event::End(tag) if tag.local_name().as_ref() == "style" => {
                styles.insert(std::mem::take(&mut id), std::mem::take(&mut style));
            }
            Event::Eof => return Ok(Styles { styles }),
            _ => {}
        }
    }
}

impl Style {
    fn take(&mut self, tag: &BytesStart<'_>) {
        let Some(value) = attribute(tag, "val") else { return };
        match tag.local_name().as_ref() {
            "name" => {
                self.heading = self.heading.or_else(|| heading_level(&value));
                self.is_title = value.eq_ignore_ascii_case("title") || value == "제목";
            }
            "basedOn" => self.based_on = Some(value),
            "outlineLvl" => self.heading = outline_level(&value),
            "numId" => {
                let level = self.list.take().map_or(0, |(_, level)| level);
                self.list = Some((value, level));
            }
            "ilvl" => {
                let id = self.list.take().map(|(id, _)| id).unwrap_or_default();
                self.list = Some((id, value.parse().unwrap_or(0)));
            }
            _ => {}
        }
    }
}

/// `Heading 2`, `heading2`, `제목 2`.
fn heading_level(name: &str) -> Option<u8> {
    let name = name.trim().to_lowercase();
    let number = name.strip_prefix("heading").or_else(|| name.strip_prefix("제목"))?;
    number.trim().parse().ok().filter(|level| (1..=HEADING_LEVEL_MAX).contains(level))
}

/// Levels count from 0; the one after the last means plain text.
pub(super) fn outline_level(value: &str) -> Option<u8> {
    value.parse::<u8>().ok().filter(|level| *level < HEADING_LEVEL_MAX).map(|level| level + 1)
}

/// Which levels of which lists count up.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    /// The definition that a list uses.
    lists: BTreeMap<String, String>,
    /// The format of each level of a definition.
    formats: BTreeMap<(String, u8), String>,
}

impl Numbering {
    pub(super) fn is_ordered(&self, list: &str, level: u8) -> bool {
        let definition = self.lists.get(list);
        let format = definition.and_then(|id| self.formats.get(&(id.clone(), level)));
        format.is_some_and(|format| format != "bullet" && format != "none")
    }
}

pub(super) fn numbering(part: &str, limits: &Limits) -> Result<Numbering, ExtractError> {
    let mut events = Events::of(part, limits);
    let mut numbering = Numbering::default();
    let (mut definition, mut list, mut level) = (String::new(), String::new(), 0);
    loop {
        match events.next()? {
            Event::Start(tag) | Event::Empty(tag) => match tag.local_name().as_ref() {
                "abstractNum" => definition = attribute(&tag, "abstractNumId").unwrap_or_default(),
                "lvl" => {
                    level =
                        attribute(&tag, "ilvl").and_then(|level| level.parse().ok()).unwrap_or(0)
                }
                "numFmt" => {
                    let format = attribute(&tag, "val").unwrap_or_default();
                    numbering.formats.entry((definition.clone(), level)).or_insert(format);
                }
                "num" => list = attribute(&tag, "numId").unwrap_or_default(),
                "abstractNumId" => {
                    let used = attribute(&tag, "val").unwrap_or_default();
                    numbering.lists.insert(list.clone(), used);
                }
                _ => {}
            },
            Event::Eof => return Ok(numbering),
            _ => {}
        }
    }
}

/// The title in the document's properties.
pub(super) fn title(part: &str, limits: &Limits) -> Result<Option<String>, ExtractError> {
    let mut events = Events::of(part, limits);
    let mut title = None;
    loop {
        match events.next()? {
            Event::Start(tag) if tag.local_name().as_ref() == "title" => {
                title = Some(String::new())
            }
            Event::Text(text) => {
                if let Some(title) = title.as_mut() {
                    title.push_str(&text.xml10_content());
                }
            }
            Event::End(tag) if tag.local_name().as_ref() == "title" => break,
            Event::Eof => break,
            _ => {}
        }
    }
    Ok(title.filter(|title| !title.trim().is_empty()))
}

pub(super) fn attribute(tag: &BytesStart<'_>, wanted: &str) -> Option<String> {
    let mut attributes = tag.attributes();
    let found = attributes
        .with_checks(false)
        .filter_map(Result::ok)
        .find(|attribute| attribute.key.local_name().as_ref() == wanted)?;
    found.normalized_value(XmlVersion::Implicit1_0).ok().map(Cow::into_owned)
}

//! Writes the paragraphs, lists and tables of a Word document.

use std::collections::BTreeMap;

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::ExtractError;
use crate::document::{BlockKind, Draft, one_line};
use crate::docx::archive::Events;
use crate::docx::styles::{Numbering, Styles, attribute, outline_level};
use crate::limits::within;

/// Deepest list that is still indented.
const LIST_DEPTH_MAX: u8 = 8;

/// Writes the whole body; gives the paragraph in the style of a title, if there is one.
pub(super) fn write(
    part: &str,
    styles: &Styles,
    numbering: &Numbering,
    draft: &mut Draft<'_>,
) -> Result<Option<String>, ExtractError> {
    let mut events = Events::of(part, draft.limits);
    let mut body = Body {
        styles,
        numbering,
        draft,
        paragraph: Paragraph::default(),
        tables: Vec::new(),
        counts: BTreeMap::new(),
        title: None,
    };
    loop {
        match events.next()? {
            Event::Start(tag) => body.start(&tag, &mut events)?,
            Event::Empty(tag) => body.empty(&tag),
            Event::Text(text) if body.paragraph.in_text => {
                body.paragraph.text.push_str(&text.xml10_content());
            }
            Event::CData(text) if body.paragraph.in_text => {
                body.paragraph.text.push_str(&text.xml10_content());
            }
            Event::GeneralRef(name) if body.paragraph.in_text => {
                push_entity(&mut body.paragraph.text, &name)
            }
            Event::End(tag) => body.end(tag.local_name().as_ref())?,
            Event::Eof => break,
            _ => {}
        }
    }
    body.end_paragraph()?;
    Ok(body.title)
}

struct Body<'a, 'd> {
    styles: &'a Styles,
    numbering: &'a Numbering,
    draft: &'a mut Draft<'d>,
    paragraph: Paragraph,
    /// The tables that are open, each in a cell of the one before.
    tables: Vec<Table>,
    /// How far each level of each list has counted.
    counts: BTreeMap<(String, u8), usize>,
    title: Option<String>,
}

#[derive(Default)]
struct Paragraph {
    text: String,
    style: String,
    outline: Option<u8>,
    list: Option<String>,
    level: Option<u8>,
    in_text: bool,
}

#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
    /// Columns that the last cell spans beside its own.
    spanned: usize,
}

impl Body<'_, '_> {
    fn start(&mut self, tag: &BytesStart<'_>, events: &mut Events<'_>) -> Result<(), ExtractError> {
        match tag.local_name().as_ref() {
            "p" => {
                // Text boxes hold paragraphs inside a paragraph: the outer one is written first.
                self.end_paragraph()?;
            }
            "t" => self.paragraph.in_text = true,
            "tbl" => {
                self.end_paragraph()?;
                self.tables.push(Table::default());
            }
            "tr" => {
                if let Some(table) = self.tables.last_mut() {
                    table.rows.push(Vec::new());
                    table.spanned = 0;
                    within("rows", table.rows.len(), self.draft.limits.rows_max)?;
                }
            }
            "tc" => self.start_cell(),
            // What was deleted, and copies of drawings for old programs.
            "del" | "Fallback" | "instrText" | "delText" => events.skip()?,
            _ => self.empty(tag),
        }
        Ok(())
    }

    /// An element that only says something about what is open.
    fn empty(&mut self, tag: &BytesStart<'_>) {
        let value = || attribute(tag, "val").unwrap_or_default();
        match tag.local_name().as_ref() {
            "pStyle" => self.paragraph.style = value(),
            "outlineLvl" => self.paragraph.outline = outline_level(&value()),
            "numId" => self.paragraph.list = Some(value()),
            "ilvl" => self.paragraph.level = value().parse().ok(),
            "tab" if !self.paragraph.text.is_empty() => self.paragraph.text.push('\t'),
            "br" | "cr" => self.paragraph.text.push('\n'),
            "noBreakHyphen" => self.paragraph.text.push('-'),
            "gridSpan" => {
                if let Some(table) = self.tables.last_mut() {
                    let span: usize = value().parse().unwrap_or(1);
                    table.spanned = span.clamp(1, self.draft.limits.columns_max) - 1;
                }
            }
            _ => {}
        }
    }

    fn start_cell(&mut self) {
        let Some(table) = self.tables.last_mut() else { return };
        let spanned = std::mem::take(&mut table.spanned);
        if let Some(row) = table.rows.last_mut() {
            row.extend(std::iter::repeat_n(String::new(), spanned + 1));
        }
    }

    fn end(&mut self, name: &str) -> Result<(), ExtractError> {
        match name {
            "p" => self.end_paragraph(),
            "t" => {
                self.paragraph.in_text = false;
                Ok(())
            }
            "tbl" => self.end_table(),
            _ => Ok(()),
        }
    }

    fn end_table(&mut self) -> Result<(), ExtractError> {
        let Some(mut table) = self.tables.pop() else { return Ok(()) };
        table.rows.retain(|row| row.iter().any(|cell| !cell.trim().is_empty()));
        if self.tables.is_empty() {
            return match table.rows.as_slice() {
                // A frame around text, not a table.
                [row] if row.len() == 1 => self.draft.push(BlockKind::Paragraph, &row.concat()),
                rows => self.draft.push_table(rows),
            };
        }
        // A table in a cell becomes words of that cell.
        let words: Vec<String> = table.rows.iter().map(|row| row.join(" ")).collect();
        self.add_to_cell(&words.join("; "));
        Ok(())
    }

    fn add_to_cell(&mut self, text: &str) {
        let cell = self.tables.last_mut().and_then(|table| table.rows.last_mut()?.last_mut());
        if let Some(cell) = cell {
            if !cell.is_empty() {
                cell.push(' ');
            }
            cell.push_str(text.trim());
        }
    }

    fn end_paragraph(&mut self) -> Result<(), ExtractError> {
        let paragraph = std::mem::take(&mut self.paragraph);
        let text = paragraph.text.trim();
        within("bytes of text", text.len(), self.draft.limits.text_bytes_max)?;
        if text.is_empty() {
            return Ok(());
        }
        if !self.tables.is_empty() {
            self.add_to_cell(text);
            return Ok(());
        }
        if self.title.is_none() && self.styles.is_title(&paragraph.style) {
            self.title = Some(one_line(text));
            return self.draft.push_heading(1, text);
        }
        if let Some(level) = paragraph.outline.or_else(|| self.styles.heading(&paragraph.style)) {
            return self.draft.push_heading(level, text);
        }
        let list_of_style = self.styles.list(&paragraph.style);
        let list = paragraph.list.or_else(|| list_of_style.as_ref().map(|(list, _)| list.clone()));
        match list {
            // List 0 takes a paragraph out of the list of its style.
            Some(list) if list != "0" => {
                let level = paragraph.level.or(list_of_style.map(|(_, level)| level)).unwrap_or(0);
                self.push_item(&list, level.min(LIST_DEPTH_MAX), text)
            }
            Some(_) | None => self.draft.push(BlockKind::Paragraph, text),
        }
    }

    fn push_item(&mut self, list: &str, level: u8, text: &str) -> Result<(), ExtractError> {
        let ordered = self.numbering.is_ordered(list, level);
        let indent = "  ".repeat(usize::from(level));
        let marker = if ordered {
            // Deeper levels begin anew under the next item.
            self.counts.retain(|(other, deeper), _| other != list || *deeper <= level);
            let count = self.counts.entry((list.to_owned(), level)).or_default();
            *count += 1;
            format!("{count}.")
        } else {
            "-".to_owned()
        };
        let kind = BlockKind::ListItem { ordered, depth: level + 1 };
        self.draft.push(kind, &format!("{indent}{marker} {text}"))
    }
}

/// Numbers and the five names that XML knows; what a document defines itself is not expanded.
fn push_entity(text: &mut String, name: &BytesRef<'_>) {
    match name.resolve_char_ref() {
        Ok(Some(character)) => text.push(character),
        Ok(None) => {
            text.push_str(resolve_predefined_entity(&name.xml10_content()).unwrap_or_default())
        }
        Err(_) => {}
    }
}

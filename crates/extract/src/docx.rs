//! Reads a Word document: a zip archive with the text in XML parts.

mod archive;
mod body;
mod styles;

use crate::document::Draft;
use crate::limits::Limits;
use crate::{ExtractError, Extracted, Format};

pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Extracted, ExtractError> {
    let mut archive = archive::Archive::open(bytes, limits)?;
    let Some(document) = archive.part("word/document.xml")? else {
        return Err(ExtractError::malformed(Format::Docx, "it has no word/document.xml"));
    };
    let styles = match archive.part("word/styles.xml")? {
        Some(part) => styles::styles(&part, limits)?,
        None => styles::Styles::default(),
    };
    let numbering = match archive.part("word/numbering.xml")? {
        Some(part) => styles::numbering(&part, limits)?,
        None => styles::Numbering::default(),
    };
    let title = match archive.part("docProps/core.xml")? {
        Some(part) => styles::title(&part, limits)?,
        None => None,
    };
    let mut draft = Draft::new(limits);
    let style_title = body::write(&document, &styles, &numbering, &mut draft)?;
    Ok(draft.finish(Format::Docx, title.or(style_title)))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::sample;

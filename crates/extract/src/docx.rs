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
    // All parts are inflated before the first is parsed: a bomb is refused before it has cost more.
    let styles = archive.part("word/styles.xml")?;
    let numbering = archive.part("word/numbering.xml")?;
    let properties = archive.part("docProps/core.xml")?;
    let styles = styles.map(|part| styles::styles(&part, limits)).transpose()?.unwrap_or_default();
    let numbering = numbering.map(|part| styles::numbering(&part, limits)).transpose()?;
    let numbering = numbering.unwrap_or_default();
    let title = properties.map(|part| styles::title(&part, limits)).transpose()?.flatten();
    let mut draft = Draft::new(limits);
    let style_title = body::write(&document, &styles, &numbering, &mut draft)?;
    Ok(draft.finish(Format::Docx, title.or(style_title)))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::sample;

//! Reads tables with a delimiter; the first row names the columns.

use std::collections::BTreeMap;

use ::csv::{ReaderBuilder, StringRecord};
use serde_json::Value;

use crate::document::one_line;
use crate::limits::{Limits, within};
use crate::records::Rows;
use crate::{ExtractError, Extracted, Format, Mapping};

pub(crate) fn read_csv(
    text: &str,
    mapping: &Mapping,
    limits: &Limits,
) -> Result<Extracted, ExtractError> {
    let mut reader =
        ReaderBuilder::new().delimiter(delimiter(text)).flexible(true).from_reader(text.as_bytes());
    let damaged = |error: ::csv::Error| ExtractError::malformed(Format::Csv, error.to_string());
    let header = reader.headers().map_err(damaged)?;
    within("columns", header.len(), limits.columns_max)?;
    let names: Vec<String> =
        header.iter().enumerate().map(|(index, name)| column_name(name, index)).collect();
    let mut rows = Rows::new(mapping, limits);
    let mut record = StringRecord::new();
    // The header is the first row of the sheet.
    let mut number = 1;
    while reader.read_record(&mut record).map_err(damaged)? {
        number += 1;
        within("columns", record.len(), limits.columns_max)?;
        let cells = record.iter().enumerate().map(|(index, value)| {
            let name = names.get(index).cloned().unwrap_or_else(|| column_name("", index));
            (name, Value::String(value.trim().to_owned()))
        });
        rows.push(number, cells.collect())?;
    }
    Ok(rows.finish(Format::Csv, None, BTreeMap::new()))
}

fn column_name(name: &str, index: usize) -> String {
    let name = one_line(name);
    if name.is_empty() { format!("column {}", index + 1) } else { name }
}

/// The delimiter that the first row has most of, outside quotes.
fn delimiter(text: &str) -> u8 {
    let (mut commas, mut semicolons, mut tabs) = (0, 0, 0);
    let mut in_quotes = false;
    for byte in text.trim_start().bytes() {
        match byte {
            b'"' => in_quotes = !in_quotes,
            b'\n' if !in_quotes => break,
            b',' if !in_quotes => commas += 1,
            b';' if !in_quotes => semicolons += 1,
            b'\t' if !in_quotes => tabs += 1,
            _ => {}
        }
    }
    match () {
        () if tabs > commas && tabs >= semicolons => b'\t',
        () if semicolons > commas => b';',
        () => b',',
    }
}

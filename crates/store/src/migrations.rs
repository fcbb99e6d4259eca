//! Brings files of earlier schemas up to date, each step in the transaction that writes the new version.

use agent::knowledge::Document;
use redb::{ReadableTable, WriteTransaction};

use crate::tables::{self, from_row};

/// From schema 1 to 2: readings go under the sequence of their document instead of its id.
pub(crate) fn number_readings(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    {
        let contents = transaction.open_table(tables::CONTENTS_OF_1)?;
        let documents = transaction.open_table(tables::DOCUMENTS)?;
        let mut reading_of = transaction.open_table(tables::READING_OF)?;
        let mut readings = transaction.open_table(tables::READINGS)?;
        for row in contents.iter()? {
            let (key, content) = row?;
            let (tenant, id) = key.value();
            let Some(document) = documents.get((tenant, id))? else { continue };
            let document: Document = from_row(document.value())?;
            reading_of.insert((tenant, id), document.sequence)?;
            readings.insert((tenant, document.sequence), content.value())?;
        }
    }
    transaction.delete_table(tables::CONTENTS_OF_1)?;
    Ok(())
}

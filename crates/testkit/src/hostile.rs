//! Documents made to do harm, every one made in code, and what has to become of each.

mod archives;
mod deflate;
mod names;
mod pages;
mod pdf_file;
mod pdfs;
mod texts;
mod words;
mod zip_file;

/// A document that somebody sends to see what breaks.
#[derive(Debug, Clone)]
pub struct Hostile {
    /// The name it is sent under; its ending may lie.
    pub name: String,
    pub bytes: Vec<u8>,
    pub fate: Fate,
}

/// What has to become of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is legal after all: these words of it are found.
    Read { finds: &'static str },
    /// It is not read; the reason says this among other things.
    Refused { because: &'static str },
    /// It is larger than any request may be: the request itself is refused.
    TooLarge,
}

/// Words that no document may bring out of the machine that reads it: how password files begin.
pub const SECRET: &str = "root:x:0:0";

/// The whole corpus. Names are unique.
#[must_use]
pub fn all() -> Vec<Hostile> {
    [archives::all(), words::all(), pdfs::all(), pages::all(), texts::all(), names::all()].concat()
}

fn read(name: &str, bytes: impl Into<Vec<u8>>, finds: &'static str) -> Hostile {
    Hostile { name: name.to_owned(), bytes: bytes.into(), fate: Fate::Read { finds } }
}

fn refused(name: &str, bytes: impl Into<Vec<u8>>, because: &'static str) -> Hostile {
    Hostile { name: name.to_owned(), bytes: bytes.into(), fate: Fate::Refused { because } }
}

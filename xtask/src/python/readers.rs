//! Readers of others for the files that reports are written to: PDF (pypdf, qpdf's checks, the browsers' PDFium), Word, HTML and Markdown.

use super::{Others, Packages};

/// Each with what it needs; 70 MB in all.
pub(super) const REPORTS: Packages<'_> = Packages {
    names: &[
        "html5lib==1.1",
        "lxml==6.1.3",
        "markdown-it-py==4.3.0",
        "mdurl==0.1.2",
        // It would have a library of images come along, which only those use who take images out.
        "pikepdf==10.17.0",
        "pypdf==7.0.1",
        "pypdfium2==5.14.0",
        "python-docx==1.2.0",
        "six==1.17.0",
        "typing-extensions==4.16.0",
        "webencodings==0.6.1",
    ],
    others: Others::Never,
};

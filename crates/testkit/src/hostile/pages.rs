//! Web pages and XML made to blow a parser up.

use super::{Fate, Hostile, read, refused};

/// Elements inside each other.
const DEPTH: usize = 100_000;
/// More than the largest request: a hundred million bytes.
const HUGE_BYTES: usize = 100_000_000;

pub(super) fn all() -> Vec<Hostile> {
    let deep = "nested deeper than";
    vec![
        Hostile { name: "huge.html".to_owned(), bytes: huge(), fate: Fate::TooLarge },
        refused("deep.html", "<div>".repeat(DEPTH), deep),
        refused("deep-formatting.html", "<b><p>".repeat(DEPTH), deep),
        refused(
            "attributes.html",
            format!("<p{}>x", " a".repeat(1_000_000)),
            "too many attributes",
        ),
        refused("named-attributes.html", named_attributes(), "too many attributes"),
        refused("ampersands.html", "&".repeat(500_000), "too many special characters"),
        refused("reopened.html", reopened(), "too many unclosed formatting tags"),
        refused("a-million-tags.html", "<p>x".repeat(1_000_001), "too many tags"),
        refused("only-a-comment.html", format!("<!--{}", "<p>".repeat(100_000)), "empty"),
        read("tables-in-tables.html", tables(), "tablebottom"),
        read("entities.html", entities("html"), "billionlaughs"),
        read("entities.xhtml", entities("html"), "billionlaughs"),
        read("entities.xml", entities("feed"), "billionlaughs"),
        read("script.html", script(), "scriptless"),
    ]
}

/// Definitions of entities that grow tenfold with each, and of one that is a file of this machine.
pub(super) fn doctype(root: &str) -> String {
    let grow = |number: usize| {
        let before = format!("&l{};", number - 1).repeat(10);
        format!("<!ENTITY l{number} \"{before}\">")
    };
    let growing: String = (1..10).map(grow).collect();
    format!(
        "<!DOCTYPE {root} [<!ENTITY l0 \"lol\">{growing}<!ENTITY secret SYSTEM \"file:///etc/passwd\">\
         <!ENTITY % far SYSTEM \"http://127.0.0.1:9/far.dtd\">%far;]>"
    )
}

fn entities(root: &str) -> String {
    let doctype = doctype(root);
    format!(
        "<?xml version=\"1.0\"?>{doctype}<{root}><body><p>billionlaughs &l9; and &secret; end</p></body></{root}>"
    )
}

fn huge() -> Vec<u8> {
    let paragraph = b"<p>A page without end, as some program once wrote it.</p>\n";
    paragraph.repeat(HUGE_BYTES.div_ceil(paragraph.len()))
}

fn named_attributes() -> String {
    let attributes: String = (0..100_000).map(|number| format!(" a{number}='{number}'")).collect();
    format!("<html><body><p{attributes}>x</p></body></html>")
}

fn reopened() -> String {
    let open: String = (0..400).map(|size| format!("<font size={size}>")).collect();
    format!("{open}{}", "<p>x</p>".repeat(10_000))
}

/// As many tables in each other as are allowed, around a long text.
fn tables() -> String {
    let (open, close) = ("<table><tr><td>", "</td></tr></table>");
    let text = "tablebottom has words to look through. ".repeat(500);
    format!("<html><body>{}<p>{text}</p>{}</body></html>", open.repeat(100), close.repeat(100))
}

fn script() -> String {
    "<html><body><script>while(1){document.write('<p>')}</script><p onclick='x()'>scriptless words</p>\
     <img src=x onerror=alert(1)><iframe src='file:///etc/passwd'></iframe></body></html>"
        .to_owned()
}

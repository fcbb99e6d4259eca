//! Names that want to be paths, or are no names at all; the documents themselves are harmless.

use super::{Hostile, read, refused};

pub(super) fn all() -> Vec<Hostile> {
    let text = |word: &str| format!("# Name\n\n{word} is all it says");
    let no_name = "name cannot be used";
    vec![
        read("../../etc/passwd", text("upwards"), "upwards"),
        read("/etc/passwd", text("absolute"), "absolute"),
        read("..\\..\\windows\\system.ini", text("backwards"), "backwards"),
        read("file:///etc/passwd", text("addressed"), "addressed"),
        read("%2e%2e%2f%2e%2e%2fetc%2fpasswd.md", text("escaped"), "escaped"),
        read("$(touch saem-was-here);`id`.md", text("shellwords"), "shellwords"),
        read("<img src=x onerror=alert(1)>.md", text("markup"), "markup"),
        read("\u{202E}dm.exe", text("mirrored"), "mirrored"),
        refused("nul\0byte.md", text("nul"), no_name),
        refused("line\nbreak.md", text("line"), no_name),
        refused("   ", text("blank"), no_name),
        refused(&format!("{}.md", "long".repeat(1000)), text("long"), no_name),
    ]
}

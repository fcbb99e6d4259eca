//! The page's files, compiled in, so that the page works wherever the binary is.

/// The first file, with `{edition}` where the name of this edition goes.
pub(super) const INDEX: &str = include_str!("../../../../web/index.html");

macro_rules! file {
    ($path:literal) => {
        ($path, include_bytes!(concat!("../../../../web/", $path)))
    };
}

/// How everything looks: sent as one file, in this order, under the name of [`STYLE`].
pub(super) const STYLES: [(&str, &[u8]); 4] =
    [file!("base.css"), file!("chat.css"), file!("rooms.css"), file!("research.css")];

pub(super) const STYLE: &str = "page.css";

/// All others, by their paths.
pub(super) const FILES: &[(&str, &[u8])] = &[
    file!("api.js"),
    file!("app.js"),
    file!("dom.js"),
    file!("icon.svg"),
    file!("parts/agent.js"),
    file!("parts/approvals.js"),
    file!("parts/citation.js"),
    file!("parts/composer.js"),
    file!("parts/dialogs.js"),
    file!("parts/document.js"),
    file!("parts/follow_up.js"),
    file!("parts/how.js"),
    file!("parts/long_list.js"),
    file!("parts/long_talk.js"),
    file!("parts/memory.js"),
    file!("parts/message.js"),
    file!("parts/plan.js"),
    file!("parts/plot.js"),
    file!("parts/register.js"),
    file!("parts/report.js"),
    file!("parts/run.js"),
    file!("parts/search.js"),
    file!("parts/sessions.js"),
    file!("parts/timeline.js"),
    file!("parts/tool_login.js"),
    file!("parts/turn.js"),
    file!("parts/uploads.js"),
    file!("parts/welcome.js"),
    file!("rich.js"),
    file!("rooms/activity.js"),
    file!("rooms/agents.js"),
    file!("rooms/chat.js"),
    file!("rooms/documents.js"),
    file!("rooms/login.js"),
    file!("rooms/research.js"),
    file!("rooms/settings.js"),
    file!("rooms/tools.js"),
    file!("store.js"),
    file!("theme.js"),
    file!("words.js"),
    file!("words/en.js"),
    file!("words/en_agents.js"),
    file!("words/ko.js"),
    file!("words/ko_agents.js"),
    file!("words/ko_server.js"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::{FILES, STYLES};

    fn files(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(&path, root, found);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }

    #[test]
    fn every_file_of_the_page_is_in_the_binary() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
        let mut there = BTreeSet::from(["index.html".to_owned()]);
        files(&root, &root, &mut there);
        let mut known: BTreeSet<String> =
            FILES.iter().chain(&STYLES).map(|(path, _)| (*path).to_owned()).collect();
        known.insert("index.html".to_owned());
        assert_eq!(known, there);
    }
}

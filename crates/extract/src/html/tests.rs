//! What the reader does, shown on small pages.

use super::*;
use crate::BlockKind;

fn rendered(html: &str) -> String {
    read(html, &Limits::default()).unwrap().text
}

#[test]
fn structure_becomes_marks() {
    let html = "<html><head><title>안내 &amp; 도움</title></head><body><h2>시작</h2><p>첫 <b>줄</b>\n입니다<br>둘째</p><ul><li>하나<ul><li>속</li></ul></li><li>둘</li></ul><ol start=3><li>셋</li></ol><pre>a &lt; b\n  c</pre><blockquote><p>말</p></blockquote><table><tr><th>이름</th><th>값</th></tr><tr><td>a</td><td><a href=x>1|2</a></td></tr></table></body></html>";
    let extracted = read(html, &Limits::default()).unwrap();
    assert_eq!(
        extracted.text,
        "## 시작\n\n첫 줄 입니다\n둘째\n\n- 하나\n  - 속\n- 둘\n3. 셋\n\n```\na < b\n  c\n```\n\n> 말\n\n| 이름 | 값 |\n| --- | --- |\n| a | 1\\|2 |"
    );
    assert_eq!(extracted.title.as_deref(), Some("안내 & 도움"));
    assert_eq!(extracted.blocks[3].kind, BlockKind::ListItem { ordered: false, depth: 2 });
}

#[test]
fn the_article_is_told_from_the_page_around_it() {
    let sentence = "This is a sentence of the article, with commas, and enough words to count. ";
    let paragraph = |n: usize| format!("<p>{n}. {}</p>", sentence.repeat(4));
    let html = format!(
        "<html><body><nav><a href=/>Home</a><a href=/x>Menu item</a></nav><div class=sidebar><ul><li><a href=/1>Related link</a></li></ul></div><article><h1>Title</h1>{}</article><footer>Copyright notice</footer></body></html>",
        (1..=5).map(paragraph).collect::<String>()
    );
    let text = rendered(&html);
    assert_eq!(text.matches("sentence of the article").count(), 20);
    assert!(!text.contains("Menu item") && !text.contains("Copyright"));
}

#[test]
fn a_guide_of_many_short_parts_is_kept_whole() {
    let sentence =
        "This one paragraph is long enough, with commas, and words, to look like an article. ";
    let parts: String = (0..40)
        .map(|n| format!("<section><h3>Setting {n}</h3><ul><li><a href=/{n}>Option {n}</a></li></ul></section>"))
        .collect();
    let html = format!(
        "<html><body><nav>Menu</nav><main><div class=post><p>{}</p></div><div class=sidebar-links>{parts}</div></main></body></html>",
        sentence.repeat(8)
    );
    let text = rendered(&html);
    assert!(text.contains("### Setting 39") && text.contains("- Option 39"), "{text}");
    assert!(!text.contains("Menu"));
}

#[test]
fn a_caption_stands_there_once_and_a_plan_as_often_as_it_likes() {
    let caption =
        "The minister, left, and the mayor shake hands in front of the new town hall on Wednesday.";
    let html = format!(
        "<body><ul><li>{caption}<div>{caption}</div></li><li>{caption}</li></ul><p>Again!</p><p>{caption}</p><p>Again!</p><h2>{caption}</h2></body>"
    );
    assert_eq!(rendered(&html), format!("- {caption}\n\nAgain!\n\nAgain!\n\n## {caption}"));
    let day = format!("<p>{caption}</p>{}", "<p>Rest.</p>".repeat(12));
    assert_eq!(rendered(&day.repeat(3)).matches(caption).count(), 3);
}

#[test]
fn scripts_styles_and_comments_are_no_text() {
    let text = rendered(
        "<body><script>if (a < b) { '</p>' }</script><style>p{}</style><!-- hidden --><noscript>no</noscript><p>shown</p><svg><text>x</text></svg></body>",
    );
    assert_eq!(text, "shown");
}

#[test]
fn layout_tables_become_paragraphs() {
    assert_eq!(
        rendered("<table><tr><td><p>one</p></td></tr><tr><td><p>two</p></td></tr></table>"),
        "one\n\ntwo"
    );
}

#[test]
fn a_table_in_a_layout_is_still_a_table() {
    let inner = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>";
    let html = format!(
        "<table><tr><td>menu</td><td>{inner}</td></tr><tr><td>x</td><td>y</td></tr></table>"
    );
    let text = rendered(&html);
    assert!(text.contains("| a | b |\n| --- | --- |\n| 1 | 2 |"), "{text}");
    assert!(!text.contains("| menu"), "{text}");
}

#[test]
fn deep_pages_are_refused_quickly() {
    for tag in ["<div>", "<div/>", "<b>", "<span a=1>", "<table><tr><td>", "<ul><li>", "<div></b>"]
    {
        let found = read(&tag.repeat(100_000), &Limits::default());
        assert_eq!(found.err(), Some(ExtractError::TooDeep { limit: crate::NESTING_MAX }), "{tag}");
    }
}

#[test]
fn a_million_attributes_are_refused() {
    let attributes = " a".repeat(1_000_000);
    let found = read(&format!("<p{attributes}>x</p>"), &Limits::default());
    assert_eq!(
        found.err(),
        Some(ExtractError::TooLarge {
            what: "attributes in one tag",
            limit: crate::ATTRIBUTES_MAX
        })
    );
}

#[test]
fn formatting_that_is_opened_again_everywhere_is_refused() {
    let open: String = (0..400).map(|n| format!("<font size={n}>")).collect();
    let found = read(&format!("{open}{}", "<p>x</p>".repeat(10_000)), &Limits::default());
    assert!(matches!(found, Err(ExtractError::TooLarge { .. })));
}

#[test]
fn special_characters_without_end_are_refused() {
    for (before, after) in [("<p>", "</p>"), ("<textarea>", "</textarea>"), ("<p title='", "'>")] {
        let found = read(&format!("{before}{}{after}", "&".repeat(400_000)), &Limits::default());
        assert!(matches!(found, Err(ExtractError::TooLarge { .. })), "{before}");
    }
}

#[test]
fn sloppy_pages_are_still_read() {
    let html = "<p>open<p>again<li>item".repeat(2_000);
    assert!(rendered(&html).contains("again"));
    let drawing = format!("<svg>{}</svg><p>text</p>", "<path d='M0'/>".repeat(2_000));
    assert_eq!(rendered(&drawing), "text");
}

#[test]
fn an_article_of_text_alone_is_taken_as_it_is_marked() {
    let words = "Budgets are checked every six hours against the forecast. ".repeat(10);
    let page = |inside: &str| {
        format!(
            "<title>Budgets | Nubi</title><body><nav><a href=/>Home</a></nav><main><article>\
             <h1>Budgets</h1><p>{words}</p>{inside}</article></main><footer>All rights</footer>"
        )
    };
    let text = |inside: &str| read(&page(inside), &Limits::default()).unwrap();
    let plain = text("<p>short</p>");
    assert_eq!(plain.title.as_deref(), Some("Budgets"));
    assert!(plain.text.ends_with("short") && plain.text.starts_with("# Budgets"), "{}", plain.text);
    assert!(!plain.text.contains("Home") && !plain.text.contains("rights"));
    // Boxes within may hold anything, so that the whole is looked at.
    let boxed = text("<div class=share><a href=/a>Share</a> <a href=/b>Like</a></div>");
    assert!(!boxed.text.contains("Share"), "{}", boxed.text);
}

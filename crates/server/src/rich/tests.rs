//! What Markdown becomes, and what never becomes anything.

use super::{Growing, HtmlChange, blocks};

#[track_caller]
fn check(markdown: &str, expected: &[&str]) {
    assert_eq!(blocks(markdown), expected, "{markdown}");
}

#[test]
fn what_people_write_is_rendered_block_by_block() {
    check(
        "안녕 *a* **b** ~~c~~ `d`",
        &["<p>안녕 <em>a</em> <strong>b</strong> <del>c</del> <code>d</code></p>"],
    );
    check("# A\n\ntext", &["<h3>A</h3>", "<p>text</p>"]);
    check("- a\n- b", &["<ul><li>a</li><li>b</li></ul>"]);
    check("3. a\n4. b", &["<ol start=\"3\"><li>a</li><li>b</li></ol>"]);
    check(
        "```rust\nlet a = b[1];\n```",
        &["<pre><code class=\"language-rust\">let a = b[1];\n</code></pre>"],
    );
    check("> a", &["<blockquote><p>a</p></blockquote>"]);
    check(
        "|a|b|\n|-|-:|\n|1|2|",
        &[
            "<table><thead><tr><th>a</th><th class=\"right\">b</th></tr></thead><tbody><tr><td>1</td><td class=\"right\">2</td></tr></tbody></table>",
        ],
    );
    check("a\\\nb\n\n---", &["<p>a<br>b</p>", "<hr>"]);
    check("- [x] a", &["<ul><li>☑ a</li></ul>"]);
}

#[test]
fn emphasis_needs_no_blank_where_korean_has_none() {
    check("원래 금액의 **50%**이고", &["<p>원래 금액의 <strong>50%</strong>이고</p>"]);
    check(
        "한도**(월)**는 **\"큰\"**값",
        &["<p>한도<strong>(월)</strong>는 <strong>&quot;큰&quot;</strong>값</p>"],
    );
    check("**가**나 a**b**c 2**3", &["<p><strong>가</strong>나 a<strong>b</strong>c 2**3</p>"]);
    check("`**50%**이고`", &["<p><code>**50%**이고</code></p>"]);
}

#[test]
fn numbers_of_passages_can_be_pressed_and_those_in_code_cannot() {
    let cite =
        |n: u32| format!("<button type=\"button\" class=\"cite\" data-cite=\"{n}\">{n}</button>");
    check("a [2]", &[&format!("<p>a {}</p>", cite(2))]);
    check("a[1, 13]", &[&format!("<p>a{}{}</p>", cite(1), cite(13))]);
    check("`a[1]` [0] [x] [1", &["<p><code>a[1]</code> [0] [x] [1</p>"]);
}

#[test]
fn html_is_text_and_addresses_are_of_pages_and_mail() {
    check("a <b onclick=x>c</b>", &["<p>a &lt;b onclick=x&gt;c&lt;/b&gt;</p>"]);
    check("<script>alert(1)</script>", &["<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"]);
    check("[a](javascript:alert(1))", &["<p>a</p>"]);
    check("[a](JaVaScRiPt:alert(1))", &["<p>a</p>"]);
    check("[a](data:text/html,x)", &["<p>a</p>"]);
    check("[a](//example.com)", &["<p>a</p>"]);
    check("<javascript:alert(1)>", &["<p>javascript:alert(1)</p>"]);
    check("![a](https://example.com/x.png)", &["<p><em>a</em></p>"]);
    check(
        "[a](<https://a.example/?x=\"y>)",
        &[
            "<p><a href=\"https://a.example/?x=&quot;y\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">a</a></p>",
        ],
    );
    check("```\"><script>\nx\n```", &["<pre><code>x\n</code></pre>"]);
}

#[test]
fn letters_that_hide_or_turn_others_are_dropped() {
    check("a\u{202e}b\u{2066}c\u{200b}d", &["<p>abcd</p>"]);
}

#[test]
fn a_text_that_grows_changes_only_its_end() {
    let mut growing = Growing::default();
    let change = |keep, blocks: &[&str]| HtmlChange {
        keep,
        blocks: blocks.iter().map(|&block| block.to_owned()).collect(),
    };
    assert_eq!(growing.push("One"), change(0, &["<p>One</p>"]));
    assert_eq!(growing.push(" two\n\nThr"), change(0, &["<p>One two</p>", "<p>Thr</p>"]));
    assert_eq!(growing.push("ee"), change(1, &["<p>Three</p>"]));
    assert_eq!(growing.push(""), change(2, &[]));
}

#[test]
fn a_text_that_is_too_long_is_shown_as_it_is() {
    let long = format!("*a* <b> {}", "x".repeat(super::MARKDOWN_BYTES_MAX));
    let shown = blocks(&long);
    assert_eq!(shown.len(), 1);
    assert!(shown[0].starts_with("<pre>*a* &lt;b&gt; xx"));
}

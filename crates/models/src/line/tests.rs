//! Checks what is kept open, what is sent again, and what becomes of servers that answer in their own way.
#![expect(clippy::disallowed_methods, reason = "a server of a test ends with it")]

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;

/// What a server does with one connection: for each question, the bytes it says; then it closes.
type Script = Vec<&'static str>;

/// A server that takes so many connections after each other and gives the questions that came on each.
async fn server(connections: Vec<Script>) -> (Arc<Line>, JoinHandle<Vec<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1/chat", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let mut heard = Vec::new();
        for script in connections {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut questions = Vec::new();
            for says in script {
                questions.push(question(&mut stream).await);
                stream.write_all(says.as_bytes()).await.unwrap();
            }
            heard.push(questions);
        }
        heard
    });
    let mut headers = HeaderMap::new();
    headers.insert("x-key", HeaderValue::from_static("sk-s3cret"));
    (Line::new(&address.parse().unwrap(), &headers, Duration::from_secs(5), 2), serving)
}

/// Reads a question with its body of one byte.
async fn question(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") || bytes.ends_with(b"\r\n\r\n") {
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0);
    }
    String::from_utf8(bytes).unwrap()
}

async fn ask(line: &Arc<Line>) -> Result<(u16, String), LineError> {
    let mut reply = line.post(|| "?".into()).await?;
    let mut text = Vec::new();
    while let Some(bytes) = reply.chunk().await? {
        text.extend(bytes);
    }
    Ok((reply.status, String::from_utf8(text).unwrap()))
}

const WHOLE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab";
const PIECES: &str =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n";

fn ab() -> Result<(u16, String), LineError> {
    Ok((200, "ab".to_owned()))
}

#[tokio::test]
async fn a_question_is_written_as_servers_want_it_and_its_connection_is_used_again() {
    let (line, serving) = server(vec![vec![WHOLE, PIECES, WHOLE]]).await;
    for _ in 0..3 {
        assert_eq!(ask(&line).await, ab());
    }
    let questions = serving.await.unwrap().concat();
    let first = questions[0].to_ascii_lowercase();
    let host = format!("post /v1/chat http/1.1\r\nhost: {}:{}\r\n", line.host, line.port);
    assert!(first.starts_with(&host), "{first}");
    assert!(first.contains("x-key: sk-s3cret\r\ncontent-length: 1\r\n\r\n?"), "{first}");
    assert!(!format!("{line:?}").contains("s3cret"));
}

#[tokio::test]
async fn a_connection_that_ends_with_its_answer_is_not_used_again() {
    let said_so = "HTTP/1.1 200 OK\r\nconnection: Keep, Close\r\ncontent-length: 2\r\n\r\nab";
    let old = "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nab";
    let until_the_end = "HTTP/1.1 200 OK\r\n\r\nab";
    let more = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabc";
    for last in [said_so, old, until_the_end, more] {
        let (line, serving) = server(vec![vec![last], vec![WHOLE]]).await;
        assert_eq!(ask(&line).await, ab(), "{last}");
        assert_eq!(ask(&line).await, ab(), "{last}");
        assert_eq!(serving.await.unwrap().len(), 2, "{last}");
    }
}

#[tokio::test]
async fn what_meets_a_closed_connection_is_sent_once_more() {
    // Kept open by us, and closed by the server without a word.
    let (line, serving) = server(vec![vec![WHOLE], vec![WHOLE]]).await;
    assert_eq!(ask(&line).await, ab());
    assert_eq!(ask(&line).await, ab());
    assert_eq!(serving.await.unwrap().len(), 2);
    // On a new connection, nobody knows how far the question came.
    let (line, _serving) = server(vec![vec![""]]).await;
    assert_eq!(ask(&line).await, Err(LineError::Closed));
}

#[tokio::test]
async fn an_answer_to_come_is_waited_for() {
    let twice = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab";
    let (line, _serving) = server(vec![vec![twice]]).await;
    assert_eq!(ask(&line).await, ab());
}

#[tokio::test]
async fn a_refusal_before_everything_was_read_is_heard() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let line = Line::new(&address.parse().unwrap(), &HeaderMap::new(), Duration::from_secs(5), 2);
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let no = b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno";
        stream.write_all(no).await.unwrap();
        (stream, listener)
    });
    // More than lies on the way of a connection that nobody reads.
    let mut reply = line.post(|| "x".repeat(64 << 20).into()).await.unwrap();
    assert_eq!(reply.status, 413);
    assert_eq!(reply.chunk().await, Ok(Some(b"no".to_vec())));
    assert_eq!(reply.chunk().await, Ok(None));
    assert!(line.kept().is_empty(), "the rest of the question is still on its way");
    drop(serving.await.unwrap());
}

#[tokio::test]
async fn what_is_no_http_or_breaks_off_is_an_error() {
    for wrong in ["It works!\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-le"] {
        let (line, _serving) = server(vec![vec![wrong]]).await;
        assert!(matches!(ask(&line).await, Err(LineError::Broken(_))), "{wrong}");
    }
    let (line, _serving) =
        server(vec![vec!["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab"]]).await;
    let mut reply = line.post(|| "?".into()).await.unwrap();
    assert_eq!(reply.chunk().await, Ok(Some(b"ab".to_vec())));
    assert!(matches!(reply.chunk().await, Err(LineError::Broken(_))));
    let long = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(HEAD_BYTES_MAX * 2)).leak();
    let (line, _serving) = server(vec![vec![long]]).await;
    assert!(matches!(ask(&line).await, Err(LineError::Broken(_))));
}

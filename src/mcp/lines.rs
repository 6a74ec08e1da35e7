//! Lines of bounded length out of a byte stream.

use bytes::{Bytes, BytesMut};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// How much room a read is given at least.
const READ_ROOM: usize = 16 * 1024;

/// What [`Lines::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A whole line without its newline; at the end of the stream also a last one that has none.
    Whole(Bytes),
    /// The line passes the limit. Said as soon as that is known; the rest of it is skipped as it comes.
    TooLong,
    /// The stream ended.
    End,
}

/// Reads lines and never holds much more than one of the longest allowed.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    stream: R,
    buffer: BytesMut,
    /// Bytes of `buffer` already searched for a newline.
    searched: usize,
    limit: usize,
    /// Inside a line that was too long.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads `stream`; lines longer than `limit` bytes are refused.
    pub(crate) fn new(stream: R, limit: usize) -> Self {
        Self { stream, buffer: BytesMut::new(), searched: 0, limit, skipping: false }
    }

    /// The next line.
    ///
    /// # Errors
    /// The stream's own.
    ///
    /// # Cancel safety
    /// Nothing read is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> io::Result<Line> {
        loop {
            if let Some(line) = self.take() {
                return Ok(line);
            }
            self.buffer.reserve(READ_ROOM);
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Ok(self.finish());
            }
        }
    }

    /// A line that the buffer already holds.
    fn take(&mut self) -> Option<Line> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(offset) = memchr::memchr(b'\n', unsearched) else {
                if self.skipping {
                    self.clear();
                } else if self.buffer.len() > self.limit {
                    self.skipping = true;
                    self.clear();
                    return Some(Line::TooLong);
                } else {
                    self.searched = self.buffer.len();
                }
                return None;
            };
            let length = self.searched + offset;
            let line = self.buffer.split_to(length);
            drop(self.buffer.split_to(1));
            self.searched = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            return Some(if length > self.limit {
                Line::TooLong
            } else {
                Line::Whole(line.freeze())
            });
        }
    }

    /// The end of the stream: what is left counts as a line.
    fn finish(&mut self) -> Line {
        self.searched = 0;
        let rest = std::mem::take(&mut self.buffer);
        if rest.is_empty() || self.skipping { Line::End } else { Line::Whole(rest.freeze()) }
    }

    /// Lets the buffer go, so that one long line does not keep its memory.
    fn clear(&mut self) {
        self.buffer = BytesMut::new();
        self.searched = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_test_stream::Chunks;

    /// A reader that gives its chunks one by one.
    mod tokio_test_stream {
        use std::{collections::VecDeque, io, pin::Pin, task};
        use tokio::io::{AsyncRead, ReadBuf};

        pub(super) struct Chunks(pub(super) VecDeque<Vec<u8>>);

        impl AsyncRead for Chunks {
            fn poll_read(
                mut self: Pin<&mut Self>,
                _: &mut task::Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> task::Poll<io::Result<()>> {
                if let Some(mut chunk) = self.0.pop_front() {
                    let n = chunk.len().min(buf.remaining());
                    buf.put_slice(&chunk[..n]);
                    if n < chunk.len() {
                        self.0.push_front(chunk.split_off(n));
                    }
                }
                task::Poll::Ready(Ok(()))
            }
        }
    }

    async fn all(chunks: &[&[u8]], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(Chunks(chunks.iter().map(|c| c.to_vec()).collect()), limit);
        let mut found = Vec::new();
        loop {
            match lines.next().await.unwrap() {
                Line::End => return found,
                line => found.push(line),
            }
        }
    }

    fn whole(text: &str) -> Line {
        Line::Whole(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[tokio::test]
    async fn every_split_of_a_stream_gives_the_same_lines() {
        let text = b"ab\n\n123456789\ncd\n12345678\nlast";
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let parts = [&text[..first], &text[first..second], &text[second..]];
                let parts: Vec<&[u8]> = parts.into_iter().filter(|p| !p.is_empty()).collect();
                assert_eq!(
                    all(&parts, 8).await,
                    [
                        whole("ab"),
                        whole(""),
                        Line::TooLong,
                        whole("cd"),
                        whole("12345678"),
                        whole("last")
                    ],
                    "{first} {second}"
                );
            }
        }
    }

    #[tokio::test]
    async fn a_line_without_end_is_refused_once_and_holds_no_memory() {
        let chunk = vec![b'x'; 64 * 1024];
        let mut lines = Lines::new(Chunks((0..256).map(|_| chunk.clone()).collect()), 1024 * 1024);
        assert_eq!(lines.next().await.unwrap(), Line::TooLong);
        assert_eq!(lines.next().await.unwrap(), Line::End);
        assert!(lines.buffer.capacity() < 256 * 1024);
    }
}

//! The process's standard streams without threads, where they allow it.
//!
//! Clients hand over pipes or Unix sockets; both can be waited for directly. Tokio's own `stdin` and `stdout` pass each
//! read and write to another thread and back, and a read that is under way there cannot be given up.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream as StdUnixStream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// A stream to read from.
pub(crate) type Input = Box<dyn AsyncRead + Send + Unpin>;
/// A stream to write to.
pub(crate) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input.
pub(crate) fn input() -> Input {
    let stdin = io::stdin();
    match kind(stdin.as_fd()) {
        Kind::Pipe => match receiver(stdin.as_fd()) {
            Ok(pipe) => Box::new(pipe),
            Err(_) => Box::new(tokio::io::stdin()),
        },
        Kind::Socket => match socket_of(stdin.as_fd()) {
            Ok(socket) => Box::new(socket),
            Err(_) => Box::new(tokio::io::stdin()),
        },
        Kind::Other => Box::new(tokio::io::stdin()),
    }
}

/// Standard output.
pub(crate) fn output() -> Output {
    let stdout = io::stdout();
    match kind(stdout.as_fd()) {
        Kind::Pipe => match sender(stdout.as_fd()) {
            Ok(pipe) => Box::new(pipe),
            Err(_) => Box::new(tokio::io::stdout()),
        },
        Kind::Socket => match socket_of(stdout.as_fd()) {
            Ok(socket) => Box::new(socket),
            Err(_) => Box::new(tokio::io::stdout()),
        },
        Kind::Other => Box::new(tokio::io::stdout()),
    }
}

/// What a descriptor is.
enum Kind {
    Pipe,
    Socket,
    Other,
}

fn kind(fd: BorrowedFd<'_>) -> Kind {
    let Ok(metadata) = fd.try_clone_to_owned().map(File::from).and_then(|file| file.metadata())
    else {
        return Kind::Other;
    };
    match metadata.file_type() {
        kind if kind.is_fifo() => Kind::Pipe,
        kind if kind.is_socket() => Kind::Socket,
        _ => Kind::Other,
    }
}

/// The pipe on standard input, opened anew where that can be done, so that its being non-blocking is not shared with the
/// other holders of the descriptor.
fn receiver(fd: BorrowedFd<'_>) -> io::Result<pipe::Receiver> {
    if cfg!(target_os = "linux") {
        pipe::OpenOptions::new().open_receiver("/proc/self/fd/0")
    } else {
        pipe::Receiver::from_owned_fd(fd.try_clone_to_owned()?)
    }
}

/// The same for standard output.
fn sender(fd: BorrowedFd<'_>) -> io::Result<pipe::Sender> {
    if cfg!(target_os = "linux") {
        pipe::OpenOptions::new().open_sender("/proc/self/fd/1")
    } else {
        pipe::Sender::from_owned_fd(fd.try_clone_to_owned()?)
    }
}

/// A socket; it stays non-blocking for whoever shares it.
fn socket_of(fd: BorrowedFd<'_>) -> io::Result<UnixStream> {
    let socket = StdUnixStream::from(fd.try_clone_to_owned()?);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

//! Interception live, between three namespaces. Each test covers both versions of IP.

mod bounds;
mod fragments;
mod machine;
mod refusal;
mod release;

use std::io;
use std::thread::JoinHandle;

use super::testbed::{ADDRESSES, Asked};

const SERVER: [&str; 2] = [ADDRESSES[0][4], ADDRESSES[1][4]];

fn errno(result: JoinHandle<io::Result<Asked>>) -> Option<i32> {
    result.join().unwrap().unwrap_err().raw_os_error()
}

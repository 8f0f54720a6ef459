//! A small FTP server (RFC 959) for one folder: anonymous, binary, active and passive, IPv4 and IPv6 (RFC 2428). In
//! active mode its data connections come from port 20, as in RFC 959, section 3.2.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::thread;

use cellway_sys::Namespace;
use socket2::Socket;

use crate::common::tcp::{accept, listen, local, socket};
use crate::common::world::start;

/// The port of control connections, and that of its own end of data connections in active mode.
pub(crate) const CONTROL: u16 = 21;
pub(crate) const DATA: u16 = 20;

/// Serves `folder` at `at`, until the namespace ends.
pub(crate) fn serve(namespace: &Namespace, at: IpAddr, folder: PathBuf) {
    let (listener, _) = namespace.run(move || listen((at, CONTROL).into(), 16));
    start(namespace, move || {
        listener.set_read_timeout(None).unwrap();
        while let Ok((control, _)) = listener.accept() {
            let folder = folder.clone();
            thread::spawn(move || Session { control: &control, folder: &folder, data: Data::None }.run());
        }
    });
}

/// The endpoint of the next data connection.
#[derive(Debug)]
enum Data {
    None,
    /// The client connects here.
    Passive(Socket),
    /// This server connects there.
    Active(SocketAddr),
}

/// One control connection.
#[derive(Debug)]
struct Session<'a> {
    control: &'a Socket,
    folder: &'a Path,
    data: Data,
}

impl Session<'_> {
    /// Answers commands until the client closes.
    fn run(mut self) -> io::Result<()> {
        self.reply("220 ready")?;
        for line in BufReader::new(self.control).lines() {
            let line = line?;
            let (command, argument) = line.split_once(' ').unwrap_or((&line, ""));
            let reply = match command {
                "USER" => "230 welcome".to_owned(),
                "TYPE" => "200 done".to_owned(),
                "PASV" | "EPSV" => self.passive(command == "PASV")?,
                "PORT" | "EPRT" => self.active(argument),
                "NLST" | "LIST" | "RETR" | "STOR" => match self.transfer(command, argument) {
                    Ok(()) => "226 done".to_owned(),
                    Err(error) => format!("426 {error}"),
                },
                "QUIT" => return self.reply("221 goodbye"),
                _ => "502 unknown".to_owned(),
            };
            self.reply(&reply)?;
        }
        Ok(())
    }

    fn reply(&self, text: &str) -> io::Result<()> {
        let mut control = self.control;
        control.write_all(format!("{text}\r\n").as_bytes())
    }

    /// Listens for the client.
    fn passive(&mut self, short: bool) -> io::Result<String> {
        let (listener, at) = listen((local(self.control).ip(), 0).into(), 1);
        self.data = Data::Passive(listener);
        let port = at.port();
        Ok(match at.ip() {
            IpAddr::V4(ip) if short => {
                let [a, b, c, d] = ip.octets();
                let [high, low] = port.to_be_bytes();
                format!("227 entering passive mode ({a},{b},{c},{d},{high},{low})")
            }
            _ => format!("229 entering extended passive mode (|||{port}|)"),
        })
    }

    /// Stores the address of the client's listener: `a,b,c,d,high,low`, or `|2|address|port`.
    fn active(&mut self, argument: &str) -> String {
        let numbers: Option<Vec<u8>> = argument.split(',').map(|number| number.parse().ok()).collect();
        let extended: Vec<&str> = argument.split('|').collect();
        let at = match (numbers.as_deref(), &extended[..]) {
            (Some(&[a, b, c, d, high, low]), _) => {
                Some(SocketAddr::from((Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([high, low]))))
            }
            (_, ["", _, ip, port, ""]) => ip.parse::<IpAddr>().ok().zip(port.parse::<u16>().ok()).map(SocketAddr::from),
            _ => None,
        };
        self.data = at.map_or(Data::None, Data::Active);
        if at.is_some() { "200 done".into() } else { format!("501 no address: {argument}") }
    }

    /// Announces and opens a data connection, and transfers the data of the command.
    fn transfer(&mut self, command: &str, argument: &str) -> io::Result<()> {
        let path = self.folder.join(argument);
        self.reply("150 opening")?;
        let data = match std::mem::replace(&mut self.data, Data::None) {
            Data::Passive(listener) => accept(&listener)?,
            Data::Active(client) => {
                let data = socket(client.ip());
                data.set_reuse_address(true)?;
                data.bind(&SocketAddr::from((local(self.control).ip(), DATA)).into())?;
                data.connect(&client.into())?;
                data
            }
            Data::None => return Err(io::Error::other("neither PASV nor PORT")),
        };
        match command {
            "STOR" => io::copy(&mut &data, &mut File::create(path)?).map(drop),
            "RETR" => (&data).write_all(&fs::read(path)?),
            _ => (&data).write_all(list(&path, command == "LIST")?.as_bytes()),
        }
    }
}

/// Returns the files of a folder, by name or with their sizes.
fn list(folder: &Path, long: bool) -> io::Result<String> {
    let mut text = String::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (name, size) = (entry.file_name(), entry.metadata()?.len());
        let name = name.to_string_lossy();
        // Writing to a String cannot fail.
        let _ = match long {
            true => write!(text, "-rw-r--r-- 1 ftp ftp {size} Jan 1 2000 {name}\r\n"),
            false => write!(text, "{name}\r\n"),
        };
    }
    Ok(text)
}

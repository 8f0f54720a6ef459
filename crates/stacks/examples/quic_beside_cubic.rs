//! QUIC of `quinn-proto` beside the built-in CUBIC:
//! `cargo run -p cellway-stacks --example quic_beside_cubic`

mod beside;

use cellway_sim::Payload;
use cellway_stacks::quic;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stacks = beside::beside(Payload::Udp, quic::bulk(|_| {})?);
    print!("{}", beside::table(&beside::run(&beside::scenario(&[]), &stacks, 1)?, "quic"));
    Ok(())
}

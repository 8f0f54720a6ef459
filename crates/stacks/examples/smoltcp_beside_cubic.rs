//! TCP of `smoltcp` beside the built-in CUBIC:
//! `cargo run -p cellway-stacks --example smoltcp_beside_cubic`

mod beside;

use cellway_sim::Payload;
use cellway_stacks::smol;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stacks = beside::beside(Payload::Ip { protocol: smol::TCP }, smol::bulk(1 << 20, |_| {}));
    print!("{}", beside::table(&beside::run(&beside::scenario(&[]), &stacks, 1)?, "smoltcp"));
    Ok(())
}

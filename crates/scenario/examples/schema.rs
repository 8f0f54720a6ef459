//! Prints the JSON schema of scenario files.
fn main() {
    print!("{}", cellway_scenario::schema());
}

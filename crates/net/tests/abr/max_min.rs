//! Max-min fair shares by water-filling, independent of any switch.

/// Returns the share of each connection of links of `capacity`: its MCR, and of the rest a max-min fair share (D.
/// Bertsekas and R. Gallager, Data Networks, section 6.5.2). `paths` names the links of each.
pub(crate) fn shares(capacity: &[f64], paths: &[&[usize]], mcr: &[f64]) -> Vec<f64> {
    let crosses = |connection: usize, link: usize| paths[connection].contains(&link);
    let mut room: Vec<f64> = (0..capacity.len())
        .map(|link| capacity[link] - (0..paths.len()).filter(|&c| crosses(c, link)).map(|c| mcr[c]).sum::<f64>())
        .collect();
    let mut share: Vec<Option<f64>> = vec![None; paths.len()];
    while share.contains(&None) {
        let open = |link: usize| (0..paths.len()).filter(|&c| share[c].is_none() && crosses(c, link)).count();
        let (level, tightest) = (0..capacity.len())
            .filter(|&link| open(link) > 0)
            .map(|link| (room[link] / open(link) as f64, link))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .expect("each connection crosses a link");
        for connection in 0..paths.len() {
            if share[connection].is_none() && crosses(connection, tightest) {
                share[connection] = Some(level);
                paths[connection].iter().for_each(|&link| room[link] -= level);
            }
        }
    }
    share.into_iter().zip(mcr).map(|(share, mcr)| share.expect("all are set") + mcr).collect()
}

/// The example of Bertsekas and Gallager, figure 6.10 in kind: equal links, one that most share.
#[test]
fn water_filling_by_hand() {
    // Three share link 1, at 1/3 each; the rest of links 0 and 2 goes to the connection that is alone there.
    let paths: [&[usize]; 5] = [&[0, 1], &[1], &[1, 2], &[0], &[2]];
    let third = 1.0 / 3.0;
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(close(&shares(&[1.0; 3], &paths, &[0.0; 5]), &[third, third, third, 2.0 * third, 2.0 * third]));
    // An MCR of 0.4 for the second leaves 0.6 of link 1.
    let mcr = [0.0, 0.4, 0.0, 0.0, 0.0];
    assert!(close(&shares(&[1.0; 3], &paths, &mcr), &[0.2, 0.6, 0.2, 0.8, 0.8]));
}

//! Drives the network and its hosts on a simulated clock.

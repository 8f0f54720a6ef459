//! ABR as a closed loop: what the rules of sources, destinations and switches lead to together.

mod efci;
mod erica;
mod max_min;
mod network;

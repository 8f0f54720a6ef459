//! ABR as a closed loop: the joint behaviour of the rules of sources, destinations and switches.

mod efci;
mod erica;
mod max_min;
mod network;

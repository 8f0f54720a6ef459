//! A run as its page draws it: the scene as JSON, and the view of an instant as octets.

use cellway_sim::{
    Contents, FlightView, FlowScene, GatewayView, LineView, NodeScene, PortScene, PortView, Scene, UnitsView, View,
    WindowView, window_states,
};
use cellway_units::{Span, Time};
use serde_json::{Value, json};

use crate::Job;

impl Job {
    /// Advances through all instants up to a simulated time. Returns as [`Job::advance`].
    ///
    /// # Errors
    /// The reason in words if the run has failed.
    pub fn until(&mut self, seconds: f64) -> Result<f64, String> {
        self.go_on(|slices| slices.advance_until(Time::ZERO + Span::from_secs_f64(seconds)))
    }

    /// Advances through the next instant in which anything moves. Returns as [`Job::advance`].
    ///
    /// # Errors
    /// The reason in words if the run has failed.
    pub fn step(&mut self) -> Result<f64, String> {
        self.go_on(|slices| slices.step())
    }

    /// Returns the network and the traffic, or `None` after the end. See [`crate::exports`] for the form.
    pub fn scene(&self) -> Option<Value> {
        Some(scene(&self.running()?.scene()))
    }

    /// Returns the cells, packets and windows of the present instant as octets, or `None` after the end, and after
    /// [`Job::advance`]. See [`crate::exports`] for the form.
    pub fn view(&self) -> Option<Vec<u8>> {
        Some(octets(&self.running()?.view()?))
    }
}

fn scene(scene: &Scene) -> Value {
    let node = |NodeScene { name, kind }: &NodeScene| json!({ "name": name, "kind": kind });
    let port = |port: &PortScene| {
        let PortScene { name, link, from, to, cells, rate, delay } = port;
        let (rate, delay) = (rate.as_bps(), delay.as_secs_f64());
        json!({ "name": name, "link": link, "from": from, "to": to, "cells": cells, "rate": rate, "delay": delay })
    };
    let flow = |flow: &FlowScene| {
        let FlowScene { name, group, kind, ends, through } = flow;
        json!({ "name": name, "group": group, "kind": kind, "ends": ends, "through": through })
    };
    json!({
        "nodes": scene.nodes.iter().map(node).collect::<Vec<_>>(),
        "ports": scene.ports.iter().map(port).collect::<Vec<_>>(),
        "flows": scene.flows.iter().map(flow).collect::<Vec<_>>(),
        "pairs": scene.pairs,
        "states": window_states().collect::<Vec<_>>(),
        "duration": scene.duration.as_secs_f64(),
    })
}

/// Numbers as octets.
#[derive(Default)]
struct Numbers(Vec<u8>);

impl Numbers {
    fn put(&mut self, value: f64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn count(&mut self, value: u64) {
        self.put(value as f64);
    }

    fn units(&mut self, UnitsView { flow, contents, units, octets }: UnitsView) {
        self.put(flow.map_or(-1.0, |flow| flow as f64));
        self.put(match contents {
            Contents::Data => 0.0,
            Contents::Control => 1.0,
            Contents::Rm => 2.0,
        });
        self.count(units.into());
        self.count(octets);
    }

    fn port(&mut self, PortView { waiting, more, line, flight, more_flight }: &PortView) {
        self.count(waiting.len() as u64);
        self.count(*more);
        self.count(u64::from(line.is_some()));
        self.count(flight.len() as u64);
        self.count(*more_flight);
        waiting.iter().for_each(|&units| self.units(units));
        if let Some(LineView { unit, part }) = *line {
            self.units(unit);
            self.put(part);
        }
        for &FlightView { units, head, tail } in flight {
            self.units(units);
            self.put(head);
            self.put(tail);
        }
    }

    fn window(&mut self, window: &Option<WindowView>) {
        self.count(u64::from(window.is_some()));
        let Some(WindowView { window, threshold, in_flight, rtt, state, end }) = *window else { return };
        self.count(window);
        self.put(threshold.map_or(f64::NAN, |threshold| threshold as f64));
        self.count(in_flight);
        self.put(rtt.map_or(f64::NAN, Span::as_secs_f64));
        let place = window_states().position(|known| known == state);
        self.put(place.map_or(-1.0, |place| place as f64));
        self.count(end as u64);
    }
}

fn octets(view: &View) -> Vec<u8> {
    let View { now, ports, flows, gateways } = view;
    let mut numbers = Numbers::default();
    numbers.put(now.as_secs_f64());
    [ports.len(), flows.len(), gateways.len()].into_iter().for_each(|count| numbers.count(count as u64));
    ports.iter().for_each(|port| numbers.port(port));
    flows.iter().for_each(|window| numbers.window(window));
    for &GatewayView { there, back } in gateways {
        there.into_iter().chain(back).for_each(|octets| numbers.count(octets));
    }
    numbers.0
}

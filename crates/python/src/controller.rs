//! Congestion controllers that are written in Python.

use cellway_lab::congestion::{Ack as Acknowledgement, Acked, Controller, Flight, MarkReport, Repair, Signal, Window};
use cellway_lab::{Controllers, MAX_WINDOW, Span, Time};
use pyo3::prelude::*;
use pyo3::types::PyTraceback;

const BITS: f64 = 8.0;
const PS_PER_S: f64 = 1e12;

/// An acknowledgement, for `cellway.Controller.on_ack`.
#[pyclass(frozen, get_all, module = "cellway")]
pub(crate) struct Ack {
    /// Simulated time, in seconds.
    now: f64,
    /// Newly acknowledged, cumulatively or selectively, in bytes.
    delivered: u64,
    /// Newly lost, in bytes.
    lost: u64,
    /// Newly reported as marked (ECN), in bytes.
    marked: u64,
    /// Sent and neither acknowledged nor lost, in bytes.
    in_flight: u64,
    /// Acknowledged since the connection began, in bytes.
    total_delivered: u64,
    /// Round trip of the newest segment that it acknowledges, in seconds; None if that was sent more than once.
    rtt: Option<f64>,
    /// Rate at which data was delivered while that segment was in flight, in bit/s; None without a reliable sample.
    delivery_rate: Option<f64>,
    /// True if the application had too little to send when that segment was sent.
    app_limited: bool,
    /// True if the window was full within the last round trip.
    window_limited: bool,
    /// True while a loss is repaired.
    recovering: bool,
}

#[pymethods]
impl Ack {
    fn __repr__(&self) -> String {
        let Ack { now, delivered, lost, in_flight, .. } = self;
        format!("Ack(now={now}, delivered={delivered}, lost={lost}, in_flight={in_flight}, ...)")
    }
}

impl Ack {
    /// Returns an acknowledgement that reports `marked` bytes as marked.
    fn new(ack: &Acknowledgement, marked: u64) -> Ack {
        let newest = ack.newest.as_ref();
        Ack {
            now: seconds(ack.now),
            delivered: ack.delivered,
            lost: ack.lost,
            marked,
            in_flight: ack.in_flight,
            total_delivered: ack.total_delivered,
            rtt: newest.and_then(|newest| newest.rtt).map(Span::as_secs_f64),
            delivery_rate: newest.and_then(|newest| newest.sample).map(|sample| sample.rate.as_bps() as f64),
            app_limited: newest.is_some_and(|newest| newest.limited),
            window_limited: ack.window_limited,
            recovering: ack.repair.is_some(),
        }
    }
}

fn seconds(now: Time) -> f64 {
    now.since(Time::ZERO).as_secs_f64()
}

/// A controller whose methods are those of a Python object, an instance of `cellway.Controller`.
#[derive(Debug, Default)]
struct Object {
    /// `None` if it could not be created.
    object: Option<Py<PyAny>>,
    /// Its pacing rate, in bit/s; `None`: segments are not paced.
    pacing: Option<f64>,
    /// Reported as marked since the last call (bytes).
    marked: u64,
    /// The window before the recovery in progress, and before the last one that has ended (bytes).
    before: Option<u64>,
    ended: Option<u64>,
    /// The first error. Nothing is called after it.
    failure: Option<String>,
}

impl Clone for Object {
    fn clone(&self) -> Object {
        let object = self.object.as_ref().map(|object| Python::attach(|py| object.clone_ref(py)));
        Object { object, failure: self.failure.clone(), ..*self }
    }
}

impl Object {
    /// Creates the object by a call of `factory`.
    fn new(factory: &Py<PyAny>) -> Object {
        Python::attach(|py| match factory.call0(py) {
            Ok(object) => Object { object: Some(object), ..Object::default() },
            Err(error) => Object { failure: Some(text(py, &error)), ..Object::default() },
        })
    }
    /// Sets the window of the object, calls `method`, and takes the window and the pacing rate that it has then.
    fn call(
        &mut self,
        window: &mut Window,
        method: &str,
        call: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) {
        let (Some(object), None) = (&self.object, &self.failure) else { return };
        let outcome = Python::attach(|py| {
            let object = object.bind(py);
            let called = object.setattr("cwnd", window.cwnd).and_then(|()| call(object));
            let called = called.map_err(|error| text(py, &error));
            called.and_then(|returned| {
                // The body of a generator or a coroutine has not run.
                if !returned.is_none() {
                    let kind = returned.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
                    return Err(format!("{method} returned a {kind}; accepted: nothing, a controller sets its cwnd"));
                }
                wanted(object, window.mss).map_err(|error| format!("after {method}, {}", error.value(py)))
            })
        });
        match outcome {
            Ok((cwnd, pacing)) => (window.cwnd, self.pacing) = (cwnd, pacing),
            Err(failure) => self.failure = Some(failure),
        }
    }
}

/// Returns the window (bytes) and the pacing rate (bit/s) of an object.
fn wanted(object: &Bound<'_, PyAny>, mss: u64) -> PyResult<(u64, Option<f64>)> {
    let refuse = |what: &str, value: &Bound<'_, PyAny>, accepted: String| {
        let shown = value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
        pyo3::exceptions::PyValueError::new_err(format!("{what} is {shown}; accepted: {accepted}"))
    };
    let cwnd = object.getattr("cwnd")?;
    let accepted = || format!("a number of bytes from one segment, {mss}, to {MAX_WINDOW}");
    let bytes = cwnd.extract::<f64>().map_err(|_| refuse("cwnd", &cwnd, accepted()))?;
    if !(bytes >= mss as f64 && bytes <= MAX_WINDOW as f64) {
        return Err(refuse("cwnd", &cwnd, accepted()));
    }
    let pacing = object.getattr("pacing_rate")?;
    if pacing.is_none() {
        return Ok((bytes as u64, None));
    }
    let accepted = || "a rate above 0, in bit/s, or None".to_owned();
    let rate = pacing.extract::<f64>().map_err(|_| refuse("pacing_rate", &pacing, accepted()))?;
    if !(rate > 0.0 && rate.is_finite()) {
        return Err(refuse("pacing_rate", &pacing, accepted()));
    }
    Ok((bytes as u64, Some(rate)))
}

/// Returns the text of an exception, with the place in the code that raised it.
fn text(py: Python<'_>, error: &PyErr) -> String {
    let place = error.traceback(py).and_then(|traceback| innermost(&traceback).ok());
    let place = place.map_or_else(String::new, |(file, line)| format!(" ({file}:{line})"));
    format!("{error}{place}")
}

/// Returns the file and the line of the innermost call.
fn innermost(traceback: &Bound<'_, PyTraceback>) -> PyResult<(String, u32)> {
    let mut at = traceback.clone().into_any();
    loop {
        let next = at.getattr("tb_next")?;
        if next.is_none() {
            let file = at.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?;
            return Ok((file.extract()?, at.getattr("tb_lineno")?.extract()?));
        }
        at = next;
    }
}

impl Controller for Object {
    fn sets_window(&self) -> bool {
        true
    }
    fn started(&mut self, window: &mut Window, now: Time, srtt: Option<Span>) {
        let mss = window.mss;
        let srtt = srtt.filter(|srtt| !srtt.is_zero()).map(Span::as_secs_f64);
        self.call(window, "on_start", |object| {
            object.setattr("mss", mss)?;
            object.call_method1("on_start", (seconds(now), srtt))
        });
    }
    fn acknowledged(&mut self, window: &mut Window, ack: &Acknowledgement) {
        // A call costs more than all else: not for a segment that reports nothing.
        if ack.delivered == 0 && ack.lost == 0 {
            return;
        }
        let ack = Ack::new(ack, std::mem::take(&mut self.marked));
        self.call(window, "on_ack", |object| object.call_method1("on_ack", (ack,)));
    }
    fn counted(&mut self, report: &MarkReport) {
        self.marked += report.marked;
    }
    fn repairing(&mut self, window: &mut Window, repair: Repair) {
        self.before.get_or_insert(window.cwnd);
        let method = match repair {
            Repair::Fast => "on_loss",
            Repair::Timeout => "on_timeout",
        };
        self.call(window, method, |object| object.call_method0(method));
    }
    fn repaired(&mut self, _window: &mut Window) {
        self.ended = self.before.take();
    }
    fn spurious(&mut self, window: &mut Window, _total_delivered: u64) {
        let before = self.before.or(self.ended).unwrap_or(window.cwnd);
        self.call(window, "on_undo", |object| object.call_method1("on_undo", (before,)));
    }
    fn pacing_gap(&self, _window: Window, payload: u64, _srtt: Span) -> Span {
        self.pacing.map_or(Span::ZERO, |rate| Span::from_ps((BITS * payload as f64 / rate * PS_PER_S) as u64))
    }
    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }
    fn grow(&mut self, _window: &mut Window, _acked: Acked, _flight: Flight) {}
    fn threshold(&self, window: Window, _signal: Signal, _outstanding: u64, _peer_window: u64) -> u64 {
        window.cwnd
    }
}

/// Returns the controllers of traffic groups, each made by calls of its factory.
pub(crate) fn controllers(factories: Vec<(String, Py<PyAny>)>) -> Controllers {
    factories
        .into_iter()
        .fold(Controllers::new(), |all, (group, factory)| all.with(&group, move || Box::new(Object::new(&factory))))
}

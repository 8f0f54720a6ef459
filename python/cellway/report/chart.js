// Draws series over time: panels above each other on one time axis, a range of it chosen by dragging or by two fields.
{
  const root = document.getElementById('traces')
  if (root) drawTraces(root, JSON.parse(document.getElementById('traces-data').textContent))

  function drawTraces(root, data) {
    const NS = 'http://www.w3.org/2000/svg'
    const COLOURS = 8
    const end = Math.max(0, ...data.points.flatMap((p) => p.panels.flat().map((line) => (line ? line[0].at(-1) : 0))))
    let [from, to] = [0, end]
    let point = 0
    const hidden = new Set()
    root.textContent = ''

    const make = (name, attributes = {}, ...children) => {
      const node = document.createElement(name)
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value)
      node.append(...children)
      return node
    }
    const shape = (name, attributes, text) => {
      const node = document.createElementNS(NS, name)
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value)
      if (text !== undefined) node.textContent = text
      return node
    }
    const short = (value) => (value === 0 ? '0' : String(+value.toPrecision(4)))

    // One choice for each axis of the sweep.
    const tools = make('div', { class: 'tools' })
    const choices = data.axes.map((axis, at) => {
      const values = [...new Set(data.points.map((p) => p.at[at]))]
      const select = make('select', {}, ...values.map((value) => make('option', {}, value)))
      if (values.length > 1) tools.append(make('label', {}, axis, select))
      select.addEventListener('change', () => {
        const wanted = choices.map((choice) => choice.value)
        const fit = (p) => p.at.filter((value, index) => value === wanted[index]).length
        // Not every combination need have been run: the nearest with this value is taken.
        const allowed = data.points.filter((p) => p.at[at] === select.value)
        point = data.points.indexOf(allowed.reduce((best, p) => (fit(p) > fit(best) ? p : best)))
        choices.forEach((choice, index) => (choice.value = data.points[point].at[index]))
        draw()
      })
      return select
    })
    const field = (name) => {
      const input = make('input', { type: 'number', step: 'any', min: 0, class: 'range' })
      tools.append(make('label', {}, name, input))
      input.addEventListener('change', () => set(Number(fields[0].value), Number(fields[1].value)))
      return input
    }
    const fields = [field('from (s)'), field('to (s)')]
    const whole = make('button', { type: 'button' }, 'Whole run')
    whole.addEventListener('click', () => set(0, end))
    tools.append(whole)
    const panels = data.panels.map((panel) => {
      const box = make('div', { class: 'trace' })
      const legend = make('p', { class: 'legend' }, make('b', {}, panel.label), ' ')
      const buttons = []
      panel.names.forEach((name, index) => {
        const key = `${panel.label} ${name}`
        const button = make('button', { type: 'button', 'aria-pressed': 'true', class: `line c${index % COLOURS}` }, name)
        button.addEventListener('click', () => {
          if (!hidden.delete(key)) hidden.add(key)
          button.setAttribute('aria-pressed', String(!hidden.has(key)))
          draw()
        })
        buttons.push(button)
        legend.append(button)
      })
      const value = make('span', { class: 'at' })
      if (panel.thinned) legend.append(make('span', { class: 'thinned' }, panel.thinned))
      legend.append(value)
      const svg = shape('svg', { role: 'img', 'aria-label': `${panel.label} over time` })
      box.append(legend, svg)
      return { box, svg, value, buttons }
    })
    root.append(tools, ...panels.map((panel) => panel.box))

    function set(a, b) {
      if (!(b > a)) [a, b] = [0, end]
      from = Math.max(0, a)
      to = Math.min(end, b)
      draw()
    }

    // Steps of 1, 2 or 5 times a power of ten.
    function ticks(low, high, most) {
      const rough = (high - low) / most || 1
      const power = 10 ** Math.floor(Math.log10(rough))
      const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough)
      const found = []
      for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + 1e-9 * step; at += step) found.push(+at.toPrecision(12))
      return found
    }

    // The first value at or after a time; of a step, the last before it holds.
    function place(times, t) {
      let [low, high] = [0, times.length]
      while (low < high) {
        const middle = (low + high) >> 1
        if (times[middle] < t) low = middle + 1
        else high = middle
      }
      return low
    }

    function draw() {
      fields[0].value = short(from)
      fields[1].value = short(to)
      data.panels.forEach((panel, index) => drawPanel(panel, panels[index], data.points[point].panels[index], index))
    }

    function drawPanel(panel, { svg, value, buttons }, lines, index) {
      // Not every point of the sweep has every flow.
      lines.forEach((line, at) => (buttons[at].hidden = !line))
      const width = Math.max(260, svg.parentNode.clientWidth)
      const height = width < 500 ? 130 : 160
      const last = index === data.panels.length - 1
      const [left, right, top, bottom] = [46, 8, 6, last ? 34 : 18]
      svg.setAttribute('viewBox', `0 0 ${width} ${height}`)
      svg.setAttribute('height', height)
      svg.textContent = ''
      value.textContent = ''
      const seen = lines.map((line, at) => (line && !hidden.has(`${panel.label} ${panel.names[at]}`) ? line : null))
      let most = 0
      for (const line of seen) {
        if (!line) continue
        const first = Math.max(0, place(line[0], from) - 1)
        for (let i = first; i < line[0].length && (i === first || line[0][i - 1] <= to); i++) most = Math.max(most, line[1][i])
      }
      most = most * 1.05 || 1
      const x = (t) => left + ((t - from) / (to - from || 1)) * (width - left - right)
      const y = (v) => height - bottom - (v / most) * (height - top - bottom)
      for (const v of ticks(0, most, 4)) {
        svg.append(shape('line', { class: 'grid', x1: left, x2: width - right, y1: y(v), y2: y(v) }))
        svg.append(shape('text', { class: 'tick', x: left - 5, y: y(v) + 4, 'text-anchor': 'end' }, short(v)))
      }
      for (const t of ticks(from, to, width < 500 ? 4 : 8)) {
        svg.append(shape('line', { class: 'axis', x1: x(t), x2: x(t), y1: height - bottom, y2: height - bottom + 4 }))
        if (x(t) < width - 10) svg.append(shape('text', { class: 'tick', x: x(t), y: height - bottom + 15, 'text-anchor': 'middle' }, short(t)))
      }
      svg.append(shape('line', { class: 'axis', x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }))
      if (last) svg.append(shape('text', { class: 'tick', x: (left + width - right) / 2, y: height - 3, 'text-anchor': 'middle' }, 'Time (s)'))
      if (data.from > from && data.from < to) {
        const rule = shape('line', { class: 'warmup', x1: x(data.from), x2: x(data.from), y1: top, y2: height - bottom })
        rule.append(shape('title', {}, 'end of the warm-up'))
        svg.append(rule)
      }
      const clip = `clip-${index}`
      const area = shape('clipPath', { id: clip })
      area.append(shape('rect', { x: left, y: 0, width: width - left - right, height: height - bottom + 1 }))
      svg.append(area)
      seen.forEach((line, at) => {
        if (!line) return
        const [times, values] = line
        const first = Math.max(0, place(times, from) - 1)
        const d = []
        for (let i = first; i < times.length; i++) {
          // A change holds from its time on; a bin has its value up to its end.
          if (i === first && !panel.changes && first === 0) {
            const begin = times.length > 1 ? Math.max(0, 2 * times[0] - times[1]) : 0
            d.push(`M${x(begin).toFixed(1)} ${y(values[0]).toFixed(1)}H${x(times[0]).toFixed(1)}`)
          } else if (i === first) d.push(`M${x(times[i]).toFixed(1)} ${y(values[i]).toFixed(1)}`)
          else if (panel.changes) d.push(`H${x(times[i]).toFixed(1)}V${y(values[i]).toFixed(1)}`)
          else d.push(`V${y(values[i]).toFixed(1)}H${x(times[i]).toFixed(1)}`)
          if (times[i] > to) break
        }
        if (panel.changes) d.push(`H${x(to).toFixed(1)}`)
        svg.append(shape('path', { class: `line c${at % COLOURS}`, d: d.join(''), 'clip-path': `url(#${clip})` }))
      })
      const chosen = shape('rect', { class: 'chosen', x: 0, y: top, width: 0, height: height - top - bottom })
      const cross = shape('line', { class: 'cross', x1: -9, x2: -9, y1: top, y2: height - bottom })
      svg.append(chosen, cross)
      let start = null
      const time = (event) => {
        const t = from + ((event.clientX - svg.getBoundingClientRect().left - left) / (width - left - right)) * (to - from)
        return Math.min(to, Math.max(from, t))
      }
      svg.onpointerdown = (event) => {
        start = time(event)
        svg.setPointerCapture(event.pointerId)
      }
      svg.onpointermove = (event) => {
        const t = time(event)
        cross.setAttribute('x1', x(t))
        cross.setAttribute('x2', x(t))
        const read = seen.map((line, at) => {
          if (!line) return null
          const i = panel.changes ? place(line[0], t + 1e-12) - 1 : Math.min(place(line[0], t), line[0].length - 1)
          return i < 0 ? null : `${panel.names[at]} ${short(line[1][i])}`
        })
        value.textContent = `${t.toPrecision(4)} s: ${read.filter(Boolean).join(', ')}`
        if (start === null) return
        chosen.setAttribute('x', Math.min(x(start), x(t)))
        chosen.setAttribute('width', Math.abs(x(t) - x(start)))
      }
      svg.onpointerleave = () => (value.textContent = '')
      svg.onpointerup = (event) => {
        const [a, b] = [start, time(event)]
        start = null
        if (a !== null && Math.abs(x(b) - x(a)) > 6) set(Math.min(a, b), Math.max(a, b))
        else chosen.setAttribute('width', 0)
      }
      svg.onpointercancel = () => (start = null)
      svg.ondblclick = () => set(0, end)
    }

    let wide = 0
    new ResizeObserver(() => {
      if (root.clientWidth !== wide) {
        wide = root.clientWidth
        draw()
      }
    }).observe(root)
    draw()
  }
}

// Shows the table of all numbers: sorted by its heads, filtered by words and by choices, a page of rows at a time.
{
  const root = document.getElementById('numbers-table')
  if (root) showNumbers(root, JSON.parse(document.getElementById('numbers-data').textContent))
  for (const button of document.querySelectorAll('button.copy')) {
    button.hidden = false
    button.addEventListener('click', async () => {
      const text = button.parentNode.querySelector('pre').textContent
      try {
        await navigator.clipboard.writeText(text)
      } catch {
        // A page from a file may lack the clipboard: the text is selected instead.
        getSelection().selectAllChildren(button.parentNode.querySelector('pre'))
        document.execCommand('copy')
      }
      button.textContent = 'Copied'
      setTimeout(() => (button.textContent = 'Copy'), 1500)
    })
  }

  function showNumbers(root, columns) {
    const PAGE = 50
    const count = columns[0].rows.length
    const cell = (column, row) => (column.texts ? column.texts[column.rows[row]] : column.rows[row])
    const short = (value) => (value === null || value === undefined ? '–' : typeof value === 'number' ? String(+value.toPrecision(5)) : value)
    const words = Array.from({ length: count }, (_, row) => columns.filter((c) => c.texts).map((c) => cell(c, row)).join(' ').toLowerCase())
    let rows = [...words.keys()]
    let sorted = null
    let down = false
    let most = PAGE
    root.textContent = ''

    const make = (name, attributes = {}, ...children) => {
      const node = document.createElement(name)
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value)
      node.append(...children)
      return node
    }
    const tools = make('div', { class: 'tools' })
    const search = make('input', { type: 'search', placeholder: 'goodput upload' })
    tools.append(make('label', {}, 'Rows with these words', search))
    const choices = columns.filter((c) => (c.name === 'metric' || c.name === 'subject') && c.texts.length > 1).map((column) => {
      const select = make('select', {}, make('option', { value: '' }, 'all'), ...column.texts.map((text) => make('option', {}, text)))
      tools.append(make('label', {}, column.name, select))
      return { column, select }
    })
    const shown = make('output', {})
    tools.append(shown)
    const head = make('tr')
    columns.forEach((column) => {
      const button = make('button', { type: 'button' }, column.name)
      const cellOf = make('th', { scope: 'col', ...(column.texts ? {} : { class: 'num' }) }, button)
      button.addEventListener('click', () => {
        down = sorted === column && !down
        sorted = column
        for (const other of head.cells) other.removeAttribute('aria-sort')
        cellOf.setAttribute('aria-sort', down ? 'descending' : 'ascending')
        show()
      })
      head.append(cellOf)
    })
    const body = make('tbody')
    const more = make('button', { type: 'button', class: 'more' }, 'More rows')
    more.addEventListener('click', () => {
      most += 10 * PAGE
      show()
    })
    root.append(tools, make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Numbers' }, make('table', {}, make('thead', {}, head), body)), more)

    // Numbers with units sort by their numbers; what has no value is last in both orders.
    function compare(a, b) {
      const [x, y] = [cell(sorted, a), cell(sorted, b)]
      if (x === y) return a - b
      if (x === null) return 1
      if (y === null) return -1
      const sign = down ? -1 : 1
      return sign * (typeof x === 'number' ? x - y : x.localeCompare(y, undefined, { numeric: true }))
    }

    function show() {
      const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean)
      rows = [...words.keys()].filter(
        (row) =>
          wanted.every((word) => words[row].includes(word)) &&
          choices.every(({ column, select }) => !select.value || cell(column, row) === select.value)
      )
      if (sorted) rows.sort(compare)
      body.replaceChildren(
        ...rows.slice(0, most).map((row) => make('tr', {}, ...columns.map((column) => make('td', column.texts ? {} : { class: 'num' }, short(cell(column, row))))))
      )
      shown.textContent = `${rows.length} of ${count} rows`
      more.hidden = rows.length <= most
      keep()
    }

    // The filter is in the address, so that a link leads to the rows that it is about.
    function keep() {
      const found = new URLSearchParams()
      if (search.value) found.set('rows', search.value)
      for (const { column, select } of choices) if (select.value) found.set(column.name, select.value)
      const query = String(found)
      if (query !== location.search.slice(1)) history.replaceState(null, '', (query ? `?${query}` : location.pathname) + location.hash)
    }
    const given = new URLSearchParams(location.search)
    search.value = given.get('rows') ?? ''
    for (const { column, select } of choices) if (column.texts.includes(given.get(column.name))) select.value = given.get(column.name)
    search.addEventListener('input', show)
    for (const { select } of choices) select.addEventListener('change', show)
    show()
  }
}

// Sorts and filters the table of all rows, and shows its first. Without it the table is whole, in the order of the papers.
const PAGE = 60
const table = document.querySelector('table.claims')
const body = table.tBodies[0]
const rows = [...body.rows]
const tools = document.querySelector('.tools')
const [text, paper, verdict] = tools.querySelectorAll('input, select')
const shown = tools.querySelector('output')
let most = PAGE
const more = document.createElement('button')
more.type = 'button'
more.textContent = 'More rows'
more.addEventListener('click', () => {
  most += 4 * PAGE
  filter()
})
table.after(more)

function filter() {
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean)
  let count = 0
  for (const row of rows) {
    const content = row.textContent.toLowerCase()
    const fits =
      words.every((word) => content.includes(word)) &&
      (!paper.value || row.dataset.paper === paper.value) &&
      (!verdict.value || row.dataset.verdict === verdict.value)
    row.hidden = !fits || count >= most
    count += fits
  }
  more.hidden = count <= most
  shown.textContent = `${count} of ${rows.length} rows`
  // The filter is in the address, so that a link leads to the rows that it is about.
  const found = new URLSearchParams()
  if (text.value) found.set('rows', text.value)
  if (paper.value) found.set('paper', paper.value)
  if (verdict.value) found.set('verdict', verdict.value)
  const query = String(found)
  if (query !== location.search.slice(1)) history.replaceState(null, '', (query ? `?${query}` : location.pathname) + location.hash)
}

// Numbers sort as numbers and before strings; empty cells are last in both orders.
function compare(a, b, sign) {
  if (a === b) return 0
  if (a === '') return 1
  if (b === '') return -1
  const [x, y] = [Number(a), Number(b)]
  if (!isNaN(x) && !isNaN(y)) return sign * (x - y)
  if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1
  return sign * a.localeCompare(b)
}

for (const head of table.tHead.rows[0].cells) {
  const button = document.createElement('button')
  button.type = 'button'
  button.append(...head.childNodes)
  head.append(button)
  button.addEventListener('click', () => {
    const down = head.getAttribute('aria-sort') === 'ascending'
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort')
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending')
    const at = head.cellIndex
    rows.sort((a, b) => compare(a.cells[at].dataset.sort, b.cells[at].dataset.sort, down ? -1 : 1))
    body.append(...rows)
    filter()
  })
}
text.addEventListener('input', filter)
paper.addEventListener('change', filter)
verdict.addEventListener('change', filter)
const given = new URLSearchParams(location.search)
text.value = given.get('rows') ?? ''
for (const [select, name] of [[paper, 'paper'], [verdict, 'verdict']]) {
  if ([...select.options].some((option) => option.value === given.get(name))) select.value = given.get(name)
}
tools.hidden = false
filter()

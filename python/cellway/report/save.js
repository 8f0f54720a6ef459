// Fills in the download links of figures. A saved figure has the colours of paper, not those of the page.
for (const link of document.querySelectorAll('a.svg')) {
  link.hidden = false
  link.href = '#'
  link.addEventListener('click', () => {
    const [, data] = link.closest('figure').querySelector('img').src.split(',')
    const text = new TextDecoder().decode(Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)))
    const sheet = /<style>:root\{(.*?)\}.*?<\/style>/.exec(text)
    const colours = new Map(sheet ? sheet[1].split(';').map((rule) => rule.split(':')) : [])
    const plain = text.replace(sheet ? sheet[0] : '', '').replace(/var\((--c\d+)\)/g, (_, name) => colours.get(name))
    link.href = URL.createObjectURL(new Blob([plain], { type: 'image/svg+xml' }))
  })
}

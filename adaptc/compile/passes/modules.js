(d => {
  let own = d.currentScript, held = own.previousSibling, texts = held.text.split('MARK'), map = d.createElement('script')
  let head = JSON.parse(texts.shift()), imports = {}, base = new URL(head[0], d.baseURI)
  let urls = head[1].map(url => new URL(url, base).href)
  held.remove()
  own.remove()
  texts.map((text, number) => {
    imports[urls[number]] = URL.createObjectURL(new Blob(
      [text.replace(/"@(\d+)"/g, (_, place) => `"${urls[place]}"`)], { type: 'text/javascript' }))
    HINTED
  })
  NAMED
  map.type = 'importmap'
  map.text = JSON.stringify({ imports })
  d.head.append(map)
  map.remove()
})(document)

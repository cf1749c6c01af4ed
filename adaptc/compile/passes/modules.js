(d => {
  let own = d.currentScript, held = own.previousSibling, texts = held.text.split('MARK'), map = {}
  own.remove()
  HEAD
  URLS.map((url, number) => { map[url] = map[number] = texts[number] ?
    (HINTED URL.createObjectURL(new Blob([TEXT], { type: 'text/javascript' }))) : url })
  NAMED
  held.type = 'importmap'
  held.text = JSON.stringify({ imports: map })
  held.remove()
})(document)

// Which file of a ladder answers a request; the service worker and the script at the edge choose alike.
const mayBePage = (path) => /(^|\/|\.html?|\/[^/.]*|^[^/.]*)$/i.test(path)
// isClean: whether the host sends about.html for /about; others send nothing or a directory there
const nameOfPage = (path, isClean) => {
  if (/(^|\/)$/.test(path)) return path + settings.index + settings.suffix
  if (/\.html?$/i.test(path)) return path + settings.suffix
  return isClean && !settings.twins.includes(path) ? `${path}.html${settings.suffix}` : null
}
const mayBeObject = (path, level) => settings.kinds[level].includes(path.slice(path.lastIndexOf(".") + 1).toLowerCase())
const isSlow = (line) =>
  Boolean(line) && (line.saveData || /2g$/.test(line.effectiveType) || line.downlink < 0.4 || line.rtt >= 1400)

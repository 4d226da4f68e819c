// Where the pages are files, browsers start no Worker. The site's search then runs in a hidden frame,
// which has what the search's script uses of one: messages in both directions.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = (...urls) => urls.reduce(
        (before, each) => before.then(() => this.load(each)), Promise.resolve()
      )
      this.loaded = this.load(url)
    }

    load(url) {
      return new Promise((resolve, reject) => {
        const page = this.frame.contentDocument
        const script = page.createElement("script")
        Object.assign(script, { src: url, onload: resolve, onerror: reject })
        page.body.append(script)
      })
    }

    postMessage(data) {
      const inside = this.frame.contentWindow
      this.loaded.then(() => inside.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
  window.Worker = window.IFrameWorker
}

// A stub of what a module of Skyscraper gets from the program, with Qt's network below it.
#ifndef ABSTRACTSCRAPER_H
#define ABSTRACTSCRAPER_H

#include <QEventLoop>
#include <QFileInfo>
#include <QHash>
#include <QNetworkAccessManager>
#include <QNetworkReply>
#include <QSharedPointer>
#include <QStringList>
#include <functional>

using NetManager = QNetworkAccessManager;

struct Settings {
    QString userCreds;
    bool cacheCovers = true;
    QHash<QString, QString> known;
};

struct GameEntry {
    QString title, platform, releaseDate, url, description, developer, publisher, tags;
    QByteArray coverData;
};

class NetComm {
public:
    NetComm(QSharedPointer<NetManager> manager, std::function<void()> ready) : manager(manager), ready(ready) {}

    void request(QString query, QString = {}, QList<QPair<QString, QString>> headers = {}) {
        QNetworkRequest request{QUrl(query)};
        for (const auto &header : headers)
            request.setRawHeader(header.first.toUtf8(), header.second.toUtf8());
        delete reply;
        reply = manager->get(request);
        QObject::connect(reply, &QNetworkReply::finished, ready);
    }
    QByteArray getData() { return reply->peek(reply->bytesAvailable()); }
    int getHttpStatus() { return reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt(); }
    QString getHeaderValue(const QString name) { return reply->rawHeader(name.toUtf8()); }

private:
    QSharedPointer<NetManager> manager;
    std::function<void()> ready;
    QNetworkReply *reply = nullptr;
};

class AbstractScraper {
public:
    enum MatchType { ABSTRACT, MATCH_ONE, MATCH_MANY };

    AbstractScraper(Settings *config, QSharedPointer<NetManager> manager, MatchType)
        : config(config), netComm(new NetComm(manager, [this] { q.quit(); })) {}
    virtual ~AbstractScraper() { delete netComm; }
    virtual QList<QString> getSearchNames(const QFileInfo &, QString &) = 0;
    virtual void getGameData(GameEntry &) = 0;
    void find(QList<GameEntry> &entries, QString name, QString platform) { getSearchResults(entries, name, platform); }

    int reqRemaining = -1;

protected:
    virtual void getSearchResults(QList<GameEntry> &, QString, QString) = 0;
    QString lookupSearchName(const QFileInfo &, const QString &base, QString &) { return config->known.value(base, base); }

    Settings *config;
    QStringList regionPrios{"us", "wor", "eu", "jp"};
    NetComm *netComm;
    QEventLoop q;
};

#endif
